(** Claims of the registry (docs/CLAIMS.md) about scores, events and their probabilities, one theorem per claim. Rows are
    drawn from a finite training set. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm uniform_allocation median_elimination.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Events *)
Section Events.
Variables (Omega : finType) (J : fdist Omega).

(** a4-union: [~~ geb a b] says a < b. *)
Theorem a4_union (I : finType) (first : I) (V : I -> Omega -> R) :
  pr J (fun w => [exists i, (i != first) && ~~ geb (V i w) (V first w)]) <=
  \rsum_(i | i != first) pr J (fun w => ~~ geb (V i w) (V first w)).
Proof. exact: (pr_union J (fun i => i != first) (fun i w => ~~ geb (V i w) (V first w))). Qed.

(** a6-union *)
Theorem a6_union (A B : pred Omega) : pr J (fun w => A w || B w) <= pr J A + pr J B.
Proof. exact: pr_or. Qed.

(** a5-markov: X counts the active arms that score better; a is the number of active arms. *)
Theorem a5_markov (X : Omega -> R) a : 0 < a -> (forall w, 0 <= X w) -> pr J (fun w => geb (X w) (a / 2)) <= ex J X / (a / 2).
Proof. by move=> a0 X0; apply: markov => //; [lra | move=> w /gebP]. Qed.

(** a4-conclusion *)
Theorem a4_conclusion (deviates fails : pred Omega) delta delta_fail :
  pr J deviates <= delta -> pr J fails <= delta_fail -> pr J (fun w => deviates w || fails w) <= delta + delta_fail.
Proof. by move=> H1 H2; apply: Rle_trans (pr_or _ _ _) _; lra. Qed.

(** a4-conditioning corrected *)
Theorem a4_conditioning (deviates succeeds : pred Omega) delta :
  pr J deviates <= delta -> pr J (fun w => deviates w && succeeds w) <= delta.
Proof. by move=> H; apply: Rle_trans H; apply: pr_sub => w /andP []. Qed.

(** a5-sum corrected: the first arm is discarded in some round in which it is active. *)
Theorem a5_sum (active : nat -> pred Omega) T : (forall w, active 0%N w) ->
  pr J (fun w => ~~ active T w) <= \rsum_(t : 'I_T) pr J (fun w => active t w && ~~ active t.+1 w).
Proof.
move=> A0; elim: T => [|T IH].
  rewrite big_ord0 -(ex_const J 0); apply: ex_le => w; by rewrite A0 /=; lra.
rewrite big_ord_recr /=.
apply: (Rle_trans _ (pr J (fun w => ~~ active T w || (active T w && ~~ active T.+1 w)))).
  by apply: pr_sub => w; case: (active T w).
by apply: Rle_trans (pr_or _ _ _) _; apply: Rplus_le_compat_r.
Qed.
End Events.

(** a4-step-1 corrected *)
Theorem a4_step_1 (I : finType) (first selected : I) (V : I -> R) :
  (forall i, V selected <= V i) -> selected != first -> exists i, i != first /\ V i <= V first.
Proof. by move=> H ne; exists selected. Qed.

(** a5-half corrected: any rule that keeps ceil(a/2) of the a active arms, none of which scores worse than a dropped one. *)
Theorem a5_half (I : finType) (keep : (I -> R) -> {set I} -> {set I}) v (A : {set I}) first :
  (forall v A, keep v A \subset A) -> (forall v A, #|keep v A| = uphalf #|A|) ->
  (forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j) ->
  first \in A -> first \notin keep v A ->
  (uphalf #|A| <= #|[pred i | (i \in A :\: [set first]) && geb (v first) (v i)]|)%N.
Proof.
move=> K1 K2 K3 fA fk; apply: (keep_lost (S := [set first]) K1 K2 K3) => //; first by rewrite inE.
by rewrite /lost -subset0; apply/subsetP => i; rewrite !inE => /andP [/eqP -> ik]; rewrite ik in fk.
Qed.

(** a6-gap: under the assumption the smallest risk is that of the first arm. *)
Theorem a6_gap (I : finType) (risk : I -> R) first least i :
  (forall j, risk first <= risk j) -> (forall j, least <= risk j) -> (exists j, risk j = least) ->
  risk i - risk first = risk i - least.
Proof. by move=> H low [j Ej]; have := H j; have := low first; rewrite Ej; lra. Qed.

(** * Arms *)
Section Arms.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Let Lam0' : 0 <= Lam. Proof. exact: Rlt_le. Qed.
Let k0' : 0 <= kappa. Proof. exact: Rlt_le. Qed.
Notation arm := (arm kappa).
Notation r := (arm.r Lam kappa).
Notation M := (arm.M theta Lam kappa).
Notation c := (paper_c theta).
Notation V := (Varm theta Lam).
Notation risk := (Rarm theta Lam).
Notation surr a := (@uniform_allocation.surr theta Lam kappa a).
Let HM : 0 < M. Proof. exact: M_pos. Qed.
Let Hr : 0 < r. Proof. exact: r_pos. Qed.
Let Hcc : cstar theta <= c. Proof. exact: cstar_le_c. Qed.
Let sb (a : arm) := @surr_bnd theta Lam kappa Htheta k0 a.
Let sd (a : arm) := @surr_diff theta Lam kappa Htheta k0 a.

(** a2-term-c, eq-8-term-c corrected, a6-drop: the infimum over the ball is not above the risk of any model. *)
Theorem least_risk (a : arm) f : risk a <= ex (distribution a) (surr a f).
Proof.
have := @inf_le _ (zero Lam0 a) (fun f => ex (distribution a) (surr a f)) f; apply.
exact: (bnd_pop (distribution a) (@sb a)).
Qed.
Theorem a6_drop (a : arm) n (s : {ffun 'I_n -> rows a}) f : risk a - V s <= ex (distribution a) (surr a f) - V s.
Proof. by have := least_risk f; lra. Qed.

(** eq-7: a gap is at most 1 minus any lower bound of the loss on the ball, hence at most 1 - inf loss. *)
Theorem eq_7 (a1 ai : arm) low : (forall f x, low <= surr a1 f x) -> risk ai - risk a1 <= 1 - low.
Proof.
move=> H.
have up : risk ai <= 1.
  apply: Rle_trans (least_risk (zero Lam0 ai)) _.
  rewrite -[X in _ <= X](ex_const (distribution ai) 1); apply: ex_le => x.
  rewrite /uniform_allocation.surr /arm.L /arm.h /arm.g /= !dot0 Rmult_0_r /loss.
  by rewrite (_ : 0 / (1 - 2 * theta) = 0); [do 2 (apply: Rmax_lub; last lra); lra | field; lra].
have : low <= risk a1.
  apply: inf_ge => [|f]; first exact: (zero Lam0 a1).
  by rewrite -(ex_const (distribution a1) low); apply: ex_le => x; exact: H.
lra.
Qed.

(** a2-step-4, as printed and corrected, and a6-rademacher: the Rademacher complexity on any sample. *)
Theorem a2_step_4_corrected (a : arm) n (s : {ffun 'I_n -> rows a}) : (0 < n)%N ->
  / INR n * rad (surr a) s <= Rmax 1 (1 / (2 * (1 - 2 * theta))) * r / sqrt (INR n).
Proof.
move=> n0; have Hn := INR_pos n0; have Hs := sqrt_lt_R0 _ Hn.
have R := rad_loss (gram_psd a) (label_sq a) (gram_diag a) Htheta Lam0' k0' s.
have -> : Rmax 1 (1 / (2 * (1 - 2 * theta))) = cstar theta.
  rewrite /cstar /b /Rmax; have E : 1 / (2 * (1 - 2 * theta)) = / 2 + theta / (1 - 2 * theta) by field; lra.
  by rewrite E; do 2 case: Rle_dec; lra.
apply: (Rle_trans _ (/ INR n * (cstar theta * (r * sqrt (INR n))))).
  by apply: Rmult_le_compat_l => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
rewrite -{1}(sqrt_sqrt (INR n)); last lra.
by apply: Req_le; field; lra.
Qed.
Theorem a2_step_4 (a : arm) n (s : {ffun 'I_n -> rows a}) : (0 < n)%N -> / INR n * rad (surr a) s <= c * r / sqrt (INR n).
Proof.
move=> n0; have Hn := INR_pos n0; have Hs := sqrt_lt_R0 _ Hn.
apply: Rle_trans (a2_step_4_corrected s n0) _.
apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
apply: Rmult_le_compat_r; first lra.
have w : 0 < 1 - 2 * theta by lra.
have c1 : 1 <= c by have := Hcc; have := cstar_ge1 theta; lra.
apply: Rmax_lub => //; rewrite /paper_c; apply: (Rmult_le_reg_r (2 * (1 - 2 * theta))); first lra.
rewrite (_ : 1 / (2 * (1 - 2 * theta)) * (2 * (1 - 2 * theta)) = 1); last by field; lra.
by rewrite (_ : (1 - theta) / (1 - 2 * theta) * (2 * (1 - 2 * theta)) = 2 * (1 - theta)); [lra | field; lra].
Qed.
Theorem a6_rademacher (a : arm) n (s : {ffun 'I_n -> rows a}) : (0 < n)%N ->
  2 * (/ INR n * rad (surr a) s) <= (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)).
Proof.
move=> n0; have := a2_step_4 s n0; have Hs := sqrt_lt_R0 _ (INR_pos n0).
have -> : (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)) = 2 * (c * r / sqrt (INR n)) by rewrite /paper_c; field; lra.
lra.
Qed.

(** The loss of a fixed model, and the largest deviation of all models, around their means. *)
Section Deviations.
Variables (a : arm) (n : nat).
Hypothesis n0 : (0 < n)%N.
Let Hn : 0 < INR n. Proof. exact: INR_pos. Qed.

Lemma level delta : 0 < delta < 1 -> let t := M * sqrt (ln (1 / delta) / (2 * INR n)) in
  0 <= t /\ exp (- (2 * INR n * (t * t) / (M * M))) = delta.
Proof.
move=> Hd; have L : 0 <= ln (1 / delta).
  rewrite -ln_1; apply: Rlt_le; apply: ln_increasing; first lra.
  by rewrite /Rdiv Rmult_1_l -{1}Rinv_1; apply: Rinv_lt_contravar; lra.
have Q : 0 <= ln (1 / delta) / (2 * INR n) by apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rinv_0_lt_compat; lra.
split; first by apply: Rmult_le_pos; [exact: Rlt_le | exact: sqrt_pos].
have -> : 2 * INR n * (M * sqrt (ln (1 / delta) / (2 * INR n)) * (M * sqrt (ln (1 / delta) / (2 * INR n)))) / (M * M)
   = 2 * INR n * (sqrt (ln (1 / delta) / (2 * INR n)) * sqrt (ln (1 / delta) / (2 * INR n))) by field; move: HM; lra.
rewrite sqrt_sqrt // (_ : 2 * INR n * _ = ln (1 / delta)); last by field; lra.
by rewrite exp_Ropp exp_ln; [field; lra | apply: Rdiv_lt_0_compat; lra].
Qed.

(** a4-term-c corrected, a2-step-3 corrected, term-d corrected: a fixed model f needs no Rademacher term. The level is delta/2
    in A.4. In A.2 the rows of the arm are those of the whole distribution, and the sample is the training set. *)
Theorem a4_term_c f delta : 0 < delta < 1 ->
  pr (draws (distribution a) n)
    (fun s => geb (emp (surr a) s f - ex (distribution a) (surr a f)) (M * sqrt (ln (1 / delta) / (2 * INR n)))) <= delta.
Proof.
move=> Hd; have [t0 E] := level Hd; set t := M * _ in t0 E *.
have B : bdiff (fun s : {ffun 'I_n -> rows a} => emp (surr a) s f) (fun _ => M / INR n).
  by move=> i s s' e; exact: (emp_diff n0 (@sd a) f e).
apply: Rle_trans (Req_le _ _ E); apply: Rle_trans (score_high (distribution a) n0 HM B t0).
by apply: pr_sub => s /gebP l; apply/gebP; rewrite ex_emp //; lra.
Qed.

(** a6-generalisation corrected and a6-index corrected: all models at once, with the Rademacher complexity of n rows. *)
Theorem a6_generalisation delta : 0 < delta < 1 ->
  pr (draws (distribution a) n)
    (fun s => geb (supdev (distribution a) (surr a) s)
      (2 * ex (draws (distribution a) n) (fun s => / INR n * rad (surr a) s) + M * sqrt (ln (1 / delta) / (2 * INR n)))) <= delta.
Proof.
move=> Hd; have [t0 E] := level Hd; set t := M * _ in t0 E *.
have B := supdev_diff (zero Lam0 a) (distribution a) n0 (@sb a) (@sd a).
have S := supdev_mean (zero Lam0 a) (distribution a) n0 (@sb a).
apply: Rle_trans (Req_le _ _ E); apply: Rle_trans (score_high (distribution a) n0 HM B t0).
apply: pr_sub => s /gebP l; apply/gebP; rewrite ex_mull in l.
rewrite /Rdiv in S; lra.
Qed.

(** a4-term-a corrected, for every model f that may depend on the sample. The level is delta/2 in the paper. *)
Theorem a4_term_a (learned : {ffun 'I_n -> rows a} -> ball (gram_of a) Lam) delta : 0 < delta < 1 ->
  pr (draws (distribution a) n)
    (fun s => geb (ex (distribution a) (surr a (learned s)) - emp (surr a) s (learned s))
      ((2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)) + M * sqrt (ln (1 / delta) / (2 * INR n)))) <= delta.
Proof.
move=> Hd; apply: Rle_trans (a6_generalisation Hd); apply: pr_sub => s /gebP l; apply/gebP.
have D := sup_ge (zero Lam0 a) (learned s) (bnd_dev (distribution a) (@sb a) s).
have R : 2 * ex (draws (distribution a) n) (fun s => / INR n * rad (surr a) s) <= (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)).
  rewrite -ex_mull -[X in _ <= X](ex_const (draws (distribution a) n)); apply: ex_le => s'; exact: a6_rademacher.
by rewrite /supdev; lra.
Qed.

Variable gap : R.
Hypothesis gap0 : 0 < gap.
Notation margin := (gap / 2 - 2 * c * r / sqrt (INR n)).
Hypothesis launched : 16 * (c * c) * (r * r) / (gap * gap) < INR n.
Let oe : optimism theta Lam kappa n <= 2 * c * r / sqrt (INR n).
Proof.
apply: Rmult_le_compat_r; first by apply: Rlt_le; apply: Rinv_0_lt_compat; exact: sqrt_lt_R0.
by apply: Rmult_le_compat_r; [lra | move: Hcc; lra].
Qed.
Let eD : 2 * c * r / sqrt (INR n) < gap / 2.
Proof. by apply: launch => //; have := Hcc; have := cstar_ge1 theta; lra. Qed.
Let mono t : margin <= t -> exp (- (2 * INR n * (t * t) / (M * M))) <= exp (- (2 * INR n * (margin * margin) / (M * M))).
Proof.
move=> le; apply: exp_le; apply: Ropp_le_contravar; apply: Rmult_le_compat_r.
  by apply: Rlt_le; apply: Rinv_0_lt_compat; move: HM; nra.
by apply: Rmult_le_compat_l; [lra | apply: Rmult_le_compat; move: eD; lra].
Qed.

(** a6-term-a corrected *)
Theorem a6_term_a : pr (draws (distribution a) n) (fun s => geb (risk a - gap / 2) (V s)) <=
  exp (- (2 * INR n * (margin * margin) / (M * M))).
Proof.
apply: Rle_trans (arm_low Htheta Lam0 k0 a n0 (t := gap / 2) _) (mono _); move: oe eD; lra.
Qed.
(** a6-term-b corrected *)
Theorem a6_term_b : pr (draws (distribution a) n) (fun s => geb (V s) (risk a + gap / 2)) <=
  exp (- (/ 2 * INR n * (gap * gap) / (M * M))).
Proof.
apply: Rle_trans (arm_high Htheta Lam0 k0 a n0 (t := gap / 2) _) _; first lra.
by apply: Req_le; congr (exp (- _)); field; move: HM; lra.
Qed.
(** a6-tail corrected: the learned model f is any function of the sample that attains the score. *)
Theorem a6_tail (learned : {ffun 'I_n -> rows a} -> ball (gram_of a) Lam) :
  (forall s, emp (surr a) s (learned s) = V s) ->
  pr (draws (distribution a) n) (fun s => geb (ex (distribution a) (surr a (learned s)) - V s) (gap / 2)) <=
  exp (- (2 * INR n * (margin * margin) / (M * M))).
Proof.
move=> Ef.
have B := supdev_diff (zero Lam0 a) (distribution a) n0 (@sb a) (@sd a).
have O : ex (draws (distribution a) n) (supdev (distribution a) (surr a)) <= optimism theta Lam kappa n.
  exact: (arm_optimism (gram_psd a) (label_sq a) (gram_diag a) Htheta Lam0' k0' (distribution a) n0).
have t0 : 0 <= margin by move: eD; lra.
apply: Rle_trans (score_high (distribution a) n0 HM B t0); apply: pr_sub => s /gebP l; apply/gebP.
have D := sup_ge (zero Lam0 a) (learned s) (bnd_dev (distribution a) (@sb a) s).
have := Ef s; have := oe; change (sup _) with (supdev (distribution a) (surr a) s) in D; lra.
Qed.
End Deviations.

(** * Lemma 4 and Lemma 1 (i) with the constants of the paper, for M <= 3 *)
Lemma printed_tail n x : M <= 3 ->
  2 * exp (- (2 * INR n * (x * x) / (M * M))) <= 4 * exp (- (2 / 9 * INR n * (x * x))).
Proof.
move=> M3; have E : exp (- (2 * INR n * (x * x) / (M * M))) <= exp (- (2 / 9 * INR n * (x * x))).
  apply: exp_le; apply: Ropp_le_contravar.
  have MM : 0 < M * M by move: HM; nra.
  have M9 : M * M <= 9 by move: HM; nra.
  have X : 0 <= 2 * INR n * (x * x) by have := pos_INR n; have := Rle_0_sqr x; rewrite /Rsqr; nra.
  have -> : 2 / 9 * INR n * (x * x) = 2 * INR n * (x * x) * / 9 by field.
  by apply: Rmult_le_compat_l => //; apply: Rinv_le_contravar.
by have := exp_pos (- (2 / 9 * INR n * (x * x))); lra.
Qed.

Theorem lemma_4_printed (a1 ai : arm) n (Omega : finType) (J : fdist Omega)
    (X1 : Omega -> {ffun 'I_n -> rows a1}) (Xi : Omega -> {ffun 'I_n -> rows ai}) :
  (0 < n)%N ->
  (forall f, ex J (fun w => f (X1 w)) = ex (draws (distribution a1) n) f) ->
  (forall f, ex J (fun w => f (Xi w)) = ex (draws (distribution ai) n) f) ->
  let Delta := risk ai - risk a1 in
  0 < Delta -> 16 * (c * c) * (r * r) / (Delta * Delta) < INR n -> M <= 3 ->
  pr J (fun w => geb (V (X1 w)) (V (Xi w))) <=
  4 * exp (- (2 / 9 * INR n * ((Delta / 2 - 2 * c * r / sqrt (INR n)) * (Delta / 2 - 2 * c * r / sqrt (INR n))))).
Proof.
move=> n0 H1 Hi Delta D0 Hl M3; apply: Rle_trans (printed_tail _ _ M3); exact: (lemma_4 Htheta Lam0 k0 n0 H1 Hi D0 Hl).
Qed.

(** a4-lemma-4 corrected: rivals with a positive gap. *)
Theorem a4_lemma_4 (I : finType) (a : I -> arm) (first : I) n (Omega : finType) (J : fdist Omega)
    (X : forall i, Omega -> {ffun 'I_n -> rows (a i)}) (P : pred I) :
  (0 < n)%N ->
  (forall i f, ex J (fun w => f (X i w)) = ex (draws (distribution (a i)) n) f) ->
  let gap i := risk (a i) - risk (a first) in
  (forall i, P i -> 0 < gap i /\ 16 * (c * c) * (r * r) / (gap i * gap i) < INR n) ->
  \rsum_(i | P i) pr J (fun w => geb (V (X first w)) (V (X i w))) <=
  \rsum_(i | P i) (2 * exp (- (2 * INR n * ((gap i / 2 - 2 * c * r / sqrt (INR n)) * (gap i / 2 - 2 * c * r / sqrt (INR n))) / (M * M)))).
Proof. by move=> n0 H gap HP; apply: rsum_le => i /HP [g0 l]; exact: (lemma_4 Htheta Lam0 k0 n0 (H first) (H i) g0 l). Qed.

Theorem lemma_1_i_printed (I : finType) (a : I -> arm) (best : I) n (Omega : finType) (J : fdist Omega)
    (X : forall i, Omega -> {ffun 'I_n -> rows (a i)}) (sel : Omega -> I) Delta :
  (0 < n)%N ->
  (forall i f, ex J (fun w => f (X i w)) = ex (draws (distribution (a i)) n) f) ->
  (forall w i, V (X (sel w) w) <= V (X i w)) ->
  let rival i := ~~ geb (risk (a best)) (risk (a i)) in
  (forall i, rival i -> Delta <= risk (a i) - risk (a best)) ->
  0 < Delta -> 16 * (c * c) * (r * r) / (Delta * Delta) < INR n -> M <= 3 ->
  pr J (fun w => rival (sel w)) <= INR #|[pred i | rival i]| *
  (4 * exp (- (2 / 9 * INR n * ((Delta / 2 - 2 * c * r / sqrt (INR n)) * (Delta / 2 - 2 * c * r / sqrt (INR n)))))).
Proof.
move=> n0 H Hs rival Hg D0 Hl M3; apply: Rle_trans (lemma_1_i Htheta Lam0 k0 n0 H Hs Hg D0 Hl) _.
by apply: Rmult_le_compat_l; [exact: pos_INR | exact: printed_tail].
Qed.
End Arms.
