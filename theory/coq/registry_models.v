(** Claims of the registry (docs/CLAIMS.md) about models and counts of arms, one theorem per claim. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import calibration finite_probability concentration selection gram rademacher arm span uniform_allocation median_elimination.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** eq-3-representer: for every pair (h, g) in the span of more points there are combinations of the kernel functions at the rows
    with the same values on the rows and an objective that is not larger. F is any function of these values. *)
Theorem eq_3_representer (Z A : finType) (K : Z -> Z -> R) (point : A -> Z) (F : (A -> R) -> (A -> R) -> R) Ch Cg (vh vg : Z -> R) :
  psd K -> (forall u v u' v', (forall i, u i = u' i) -> (forall i, v i = v' i) -> F u v = F u' v') -> 0 <= Ch -> 0 <= Cg ->
  exists uh ug : A -> R,
  (forall i, gram.dot (rows_gram K point) uh (feat i) = dot K vh (feat (point i))) /\
  (forall i, gram.dot (rows_gram K point) ug (feat i) = dot K vg (feat (point i))) /\
  F (fun i => gram.dot (rows_gram K point) uh (feat i)) (fun i => gram.dot (rows_gram K point) ug (feat i))
    + Ch * (nrm (rows_gram K point) uh * nrm (rows_gram K point) uh) + Cg * (nrm (rows_gram K point) ug * nrm (rows_gram K point) ug)
  <= F (fun i => dot K vh (feat (point i))) (fun i => dot K vg (feat (point i)))
    + Ch * (nrm K vh * nrm K vh) + Cg * (nrm K vg * nrm K vg).
Proof.
move=> Kp Fext ch cg; have [uh [Vh Nh]] := projection point Kp vh; have [ug [Vg Ng]] := projection point Kp vg.
exists uh, ug; split=> //; split=> //; rewrite (Fext _ _ _ _ Vh Vg).
have sq c a b : 0 <= c -> 0 <= a -> a <= b -> c * (a * a) <= c * (b * b).
  by move=> c0 a0 ab; apply: Rmult_le_compat_l => //; apply: Rmult_le_compat.
have := sq Ch _ _ ch (nrm_ge0 _ uh) Nh; have := sq Cg _ _ cg (nrm_ge0 _ ug) Ng; lra.
Qed.

(** hypothesis-ball: kappa Lambda is a bound of |<w, Phi(x)>|, and it is attained where K(x, x) = kappa^2. *)
Theorem hypothesis_ball (T : finType) (K : T -> T -> R) kappa Lam : psd K -> 0 <= kappa -> 0 <= Lam ->
  (forall x, K x x <= kappa * kappa) -> (exists x, K x x = kappa * kappa) ->
  (forall w x, nrm K w <= Lam -> Rabs (dot K w (feat x)) <= kappa * Lam) /\
  (exists w x, nrm K w <= Lam /\ Rabs (dot K w (feat x)) = kappa * Lam).
Proof.
move=> Kp k0 L0 Kk [x Ex]; split=> [w z Hw|]; first exact: (val_le Kp Kk k0).
have [w [Hw E]] := ball_attained Kp (feat x) L0; exists w, x; split=> //.
have -> : dot K w (feat x) = - (kappa * Lam) by rewrite E /nrm dot_feat Ex sqrt_square //; ring.
by rewrite Rabs_Ropp Rabs_right //; apply: Rle_ge; exact: Rmult_le_pos.
Qed.

(** eq-3: in the affine regime kappa^2/(4C) <= 1 - 2 theta the objective has one minimiser: h = mean y Phi / (4C),
    g = - mean Phi / (4C). Every other pair is worse by at least C times the squared distances. *)
Section Penalised.
Variables (T : finType) (K : T -> T -> R) (y : T -> R) (d : fdist T) (theta kappa C : R).
Hypotheses (Kp : psd K) (y1 : forall x, y x * y x = 1) (Kk : forall x, K x x <= kappa * kappa)
           (Htheta : 0 < theta < / 2) (k0 : 0 <= kappa) (C0 : 0 < C) (regime : kappa * kappa / (4 * C) <= 1 - 2 * theta).
Notation vec := (T -> R).
Notation dot := (dot K).
Notation one := (fun _ : T => 1).
Definition objective (wh wg : vec) : R :=
  ex d (fun x => loss theta (y x * dot wh (feat x)) (dot wg (feat x))) + C * dot wh wh + C * dot wg wg.
Definition best_h : vec := fun z => / (4 * C) * mu d y z.
Definition best_g : vec := fun z => - / (4 * C) * mu d one z.

Lemma mean_value (a : T -> R) w : (forall x, a x * a x = 1) -> ex d (fun x => a x * dot w (feat x)) = dot (mu d a) w.
Proof. by move=> a1; rewrite dot_mu; apply: ex_ext => x; rewrite /phi dot_scal (dotC Kp). Qed.
Lemma mean_value_small (a : T -> R) x : (forall x, a x * a x = 1) -> Rabs (/ (4 * C) * dot (mu d a) (feat x)) <= 1 - 2 * theta.
Proof.
move=> a1; apply: Rle_trans regime; have c4 : 0 < / (4 * C) by apply: Rinv_0_lt_compat; lra.
rewrite Rabs_mult (Rabs_right (/ (4 * C))); last lra.
rewrite /Rdiv Rmult_comm; apply: Rmult_le_compat_r; first lra.
rewrite dot_mu; apply: Rabs_le.
have B z : - (kappa * kappa) <= dot (phi a z) (feat x) <= kappa * kappa.
  apply: Rabs_between; apply: Rle_trans (cauchy_abs Kp _ _) _.
  apply: Rmult_le_compat; try exact: nrm_ge0.
  - by apply: phi_nrm => // u; rewrite a1 Rmult_1_l.
  - by rewrite /nrm dot_feat -(sqrt_square _ k0); exact: sqrt_le_1_alt.
exact: (ex_bounds d B).
Qed.
Lemma first_piece_objective wh wg :
  1 + (dot (mu d one) wg - dot (mu d y) wh) / 2 + C * dot wh wh + C * dot wg wg <= objective wh wg.
Proof.
suff : 1 + (dot (mu d one) wg - dot (mu d y) wh) / 2 <= ex d (fun x => loss theta (y x * dot wh (feat x)) (dot wg (feat x))) by rewrite /objective; lra.
rewrite -(mean_value wg (fun _ => Rmult_1_l 1)) -(mean_value wh y1).
have -> : 1 + (ex d (fun x => 1 * dot wg (feat x)) - ex d (fun x => y x * dot wh (feat x))) / 2
    = ex d (fun x => 1 + / 2 * (1 * dot wg (feat x) - y x * dot wh (feat x))).
  by rewrite (ex_add d (fun _ => 1)) ex_const (ex_mull d (/ 2)) ex_sub; field.
by apply: ex_le => x; have := first_piece theta (y x * dot wh (feat x)) (dot wg (feat x)); lra.
Qed.
Lemma best_objective :
  objective best_h best_g = 1 - (dot (mu d y) (mu d y) + dot (mu d one) (mu d one)) / (16 * C).
Proof.
have -> : objective best_h best_g = 1 + (dot (mu d one) best_g - dot (mu d y) best_h) / 2 + C * dot best_h best_h + C * dot best_g best_g.
  congr (_ + _ + _); rewrite -(mean_value best_g (fun _ => Rmult_1_l 1)) -(mean_value best_h y1).
  have -> : 1 + (ex d (fun x => 1 * dot best_g (feat x)) - ex d (fun x => y x * dot best_h (feat x))) / 2
    = ex d (fun x => 1 + / 2 * (1 * dot best_g (feat x) - y x * dot best_h (feat x))).
    by rewrite (ex_add d (fun _ => 1)) ex_const (ex_mull d (/ 2)) ex_sub; field.
  apply: ex_ext => x; rewrite (loss_affine theta (1 - 2 * theta)) //; try lra.
  - rewrite Rabs_mult (_ : Rabs (y x) = 1) ?Rmult_1_l; first by rewrite /best_h dot_scal; exact: mean_value_small.
    by have := y1 x; rewrite /Rabs; case: Rcase_abs => ? ?; nra.
  - have -> : dot best_g (feat x) = - (/ (4 * C) * dot (mu d one) (feat x)) by rewrite /best_g dot_scal; ring.
    by rewrite Rabs_Ropp; apply: mean_value_small => z; ring.
rewrite /best_h /best_g !dot_scal !dot_scal_r // ?dot_scal; field; lra.
Qed.
Theorem eq_3 wh wg : objective best_h best_g + C * (dot (fun z => wh z - best_h z) (fun z => wh z - best_h z)
    + dot (fun z => wg z - best_g z) (fun z => wg z - best_g z)) <= objective wh wg.
Proof.
apply: Rle_trans (first_piece_objective wh wg); rewrite best_objective !dot_sub !dot_sub_r //.
rewrite /best_h /best_g !dot_scal !dot_scal_r // ?dot_scal (dotC Kp wh (mu d y)) (dotC Kp wg (mu d one)).
by apply: Req_le; field; lra.
Qed.
End Penalised.

(** a4-term-b corrected: the score, which the minimiser over the ball attains, is not above the empirical risk of any model. *)
Section Score.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Theorem a4_term_b (a : arm kappa) n (s : {ffun 'I_n -> rows a}) (learned f : ball (gram_of a) Lam) :
  emp (@surr theta Lam kappa a) s learned = Varm theta Lam s ->
  emp (@surr theta Lam kappa a) s learned <= emp (@surr theta Lam kappa a) s f.
Proof. by move=> ->; exact: (inf_le (zero Lam0 a) f (bnd_emp (surr_bnd Lam Htheta k0 (a := a)) s)). Qed.
End Score.

(** eq-7-optimality-gap corrected: no gap is positive, or there is a smallest positive one. *)
Theorem eq_7_optimality_gap (I : finType) (gap : I -> R) :
  (forall i, gap i <= 0) \/ exists i, 0 < gap i /\ forall j, 0 < gap j -> gap i <= gap j.
Proof.
suff : forall s : seq I, (forall i, i \in s -> gap i <= 0) \/
    exists i, 0 < gap i /\ forall j, j \in s -> 0 < gap j -> gap i <= gap j.
  case/(_ (enum I)) => [H|[i [g0 H]]]; [left => i | right; exists i; split=> // j]; by apply: H; rewrite mem_enum.
elim=> [|k s [IH|[i [g0 IH]]]]; first by left.
- case: (Rle_dec (gap k) 0) => [le|/Rnot_le_gt gt].
    by left=> i; rewrite inE => /orP [/eqP ->|/IH].
  by right; exists k; split=> // j; rewrite inE => /orP [/eqP ->|/IH]; lra.
- case: (Rle_dec (gap i) (gap k)) => [le|/Rnot_le_gt gt].
    by right; exists i; split=> // j; rewrite inE => /orP [/eqP ->|/IH] //; lra.
  case: (Rle_dec (gap k) 0) => [le|/Rnot_le_gt gk].
    by right; exists i; split=> // j; rewrite inE => /orP [/eqP ->|/IH] //; lra.
  right; exists k; split=> // j; rewrite inE => /orP [/eqP ->|/IH H] gj; first lra.
  by have := H gj; lra.
Qed.

(** * Numbers of arms that beat the first *)
Section Counts.
Variables (Omega I : finType) (J : fdist Omega) (V : Omega -> I -> R) (first : I).
Definition beats (w : Omega) (i : I) : bool := geb (V w first) (V w i).
(** a5-expectation corrected, rows drawn anew: the active arms A do not depend on the rows of the round. *)
Theorem a5_expectation (A : {set I}) :
  ex J (fun w => INR #|[pred i | (i \in A) && beats w i]|) = \rsum_(i | i \in A) pr J (fun w => beats w i).
Proof.
rewrite /pr -ex_rsum; apply: ex_ext => w; rewrite INR_card_sum [RHS]big_mkcond /=; apply: eq_bigr => i _.
by case: (i \in A).
Qed.
(** a5-expectation corrected, accumulated rows: the active arms may depend on the same rows; sum over all arms. *)
Theorem a5_expectation_accumulated (active : Omega -> {set I}) k : (0 < k)%N ->
  pr J (fun w => (k <= #|[pred i | (i \in active w) && beats w i]|)%N) <= (\rsum_i pr J (fun w => beats w i)) / INR k.
Proof.
move=> k1; have K0 := INR_pos k1; rewrite /pr -ex_rsum -/(pr J _).
apply: markov => // [w|w le]; first by apply: rsum_ge0 => i _; rewrite /ind; case: ifP; lra.
apply: Rle_trans (INR_le le) _; rewrite INR_card_sum; apply: rsum_le => i _ /=.
by rewrite /ind; case: (i \in active w) => //=; case: ifP; lra.
Qed.
(** a5-expectation-bound: the same bound for each of the active arms; q stands for the exponential. *)
Theorem a5_expectation_bound (A : {set I}) (p : I -> R) q : (forall i, i \in A -> p i <= 4 * q) ->
  \rsum_(i | i \in A) p i <= 4 * INR #|A| * q.
Proof.
move=> H; apply: Rle_trans (rsum_le H) _; rewrite rsum_const_pred; apply: Req_le.
by rewrite Rmult_comm Rmult_assoc (Rmult_comm q) -Rmult_assoc.
Qed.
End Counts.
