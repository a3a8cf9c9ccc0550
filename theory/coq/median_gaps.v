(** Theorem 4 (a) of docs/theorems.md for accumulated rows: median elimination with the gap of every rival. In round t the rivals
    of any set E t, such as those with the smallest gaps, may be left out of the sum. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import finite_probability concentration selection gram rademacher arm uniform_allocation median_elimination.
From Exml Require Import median_elimination_arms shared_rows pairs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Markov for a count of events with different probabilities. *)
Lemma pr_count_sum (W : finType) (J : fdist W) (I : finType) (P : pred I) (A : I -> pred W) k (p : I -> R) (B : pred W) :
  (0 < k)%N -> (forall w, B w -> (k <= #|[pred i | P i && A i w]|)%N) -> (forall i, P i -> pr J (A i) <= p i) ->
  pr J B <= (\rsum_(i | P i) p i) / INR k.
Proof.
move=> k0 HB HA; have K0 : 0 < INR k by apply: lt_0_INR; apply/ltP.
apply: Rle_trans.
  apply: (@markov _ J (fun w => \rsum_(i | P i) ind (A i w)) (INR k)) => //.
    by move=> w; apply: rsum_ge0 => i _; rewrite /ind; case: ifP; lra.
  move=> w /HB /INR_le le; apply: Rle_trans le _.
  rewrite INR_card_sum [X in _ <= X]big_mkcond /=; apply: rsum_le => i _ /=.
  by rewrite /ind; case: (P i) => /=; lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
by rewrite ex_rsum; apply: rsum_le.
Qed.

Section Gaps.
Variables (I : finType) (S : {set I}) (keep : (I -> R) -> {set I} -> {set I}).
Hypotheses (keep_sub : forall v A, keep v A \subset A) (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j).
Variables (Omega : finType) (J : fdist Omega) (V : nat -> Omega -> I -> R) (p : nat -> I -> R) (E : nat -> {set I}).
Notation kept t := (uphalf (iter t uphalf #|I|)).
Theorem median_accumulated_gaps T (i1 : I) : i1 \in S -> (forall t, (t < T)%N -> (#|E t| < kept t)%N) ->
  (forall t i j, (t < T)%N -> i \notin S -> j \in S -> pr J (fun w => geb (V t w j) (V t w i)) <= p t i) ->
  pr J (fun w => lost S (alive keep V T w)) <=
  \rsum_(t : 'I_T) (INR #|S| * (\rsum_(i | i \notin S :|: E t) p t i) / INR (kept t - #|E t|)).
Proof.
move=> iS; elim: T => [|T IH] small pairs.
  rewrite big_ord0 -(ex_const J 0); apply: ex_le => w; rewrite /ind /lost /= setIT.
  by case: ifP => [/eqP e|_]; [rewrite e inE in iS | lra].
rewrite big_ord_recr /=.
apply: (Rle_trans _ (pr J (fun w => lost S (alive keep V T w) || (~~ lost S (alive keep V T w) && lost S (keep (V T w) (alive keep V T w)))))).
  by apply: pr_sub => w /= ->; case: (lost S (alive keep V T w)).
apply: Rle_trans (pr_or _ _ _) _; apply: Rplus_le_compat.
  by apply: IH => [t lt|t i j lt]; [apply: small | apply: pairs]; exact: ltnW.
rewrite -rsum_const_pred pair_big /=.
apply: (@pr_count_sum _ J _ [pred q : I * I | (q.1 \in S) && (q.2 \notin S :|: E T)] (fun q w => geb (V T w q.1) (V T w q.2)) _ (fun q => p T q.2)).
- by rewrite subn_gt0; exact: small.
- move=> w /andP [/lostP [i0 [i0S i0A]] l].
  have le := keep_lost keep_sub keep_card keep_small i0S i0A l; rewrite (alive_card keep_card) in le.
  rewrite leq_subLR; apply: leq_trans le _.
  apply: (@leq_trans #|E T :|: [set i | (i \notin S :|: E T) && geb (V T w i0) (V T w i)]|).
    apply: subset_leq_card; apply/subsetP => i; rewrite !inE => /andP [/andP [iS' iA] g].
    by rewrite (negbTE iS') g /= andbT; case: (i \in E T).
  apply: leq_trans (leq_of_leqif (leq_card_setU _ _)) _; rewrite leq_add2l.
  rewrite -(card_imset _ (f := fun i => (i0, i))); last by move=> ? ? [].
  apply: subset_leq_card; apply/subsetP => q /imsetP [i]; rewrite inE => /andP [iN g] -> /=.
  by rewrite inE /= i0S iN g.
- by move=> [j i] /andP [jS]; rewrite inE negb_or => /andP [iN _]; exact: pairs.
Qed.
(** The same with a threshold c t: a member of S is above it, or the rivals that stay are below it. *)
Variables (c : nat -> R) (h : nat -> R).
Theorem median_accumulated_split T (i1 : I) : i1 \in S -> (forall t, (t < T)%N -> (#|E t| < kept t)%N) ->
  (forall t j, (t < T)%N -> j \in S -> pr J (fun w => geb (V t w j) (c t)) <= h t) ->
  (forall t i, (t < T)%N -> i \notin S -> pr J (fun w => geb (c t) (V t w i)) <= p t i) ->
  pr J (fun w => lost S (alive keep V T w)) <=
  \rsum_(t : 'I_T) (INR #|S| * h t + (\rsum_(i | i \notin S :|: E t) p t i) / INR (kept t - #|E t|)).
Proof.
move=> iS; elim: T => [|T IH] small high low.
  rewrite big_ord0 -(ex_const J 0); apply: ex_le => w; rewrite /ind /lost /= setIT.
  by case: ifP => [/eqP e|_]; [rewrite e inE in iS | lra].
rewrite big_ord_recr /=.
pose above w := [exists j, (j \in S) && geb (V T w j) (c T)].
pose below w := (kept T - #|E T| <= #|[pred i | (i \notin S :|: E T) && geb (c T) (V T w i)]|)%N.
apply: (Rle_trans _ (pr J (fun w => lost S (alive keep V T w) || (above w || below w)))).
  apply: pr_sub => w /= l; case: (boolP (lost S (alive keep V T w))) => //= /lostP [i0 [i0S i0A]].
  case: (boolP (above w)) => //= /existsPn none.
  have lt : V T w i0 < c T.
    by apply: Rnot_le_lt => le; have := none i0; rewrite i0S /= => /negP; apply; apply/gebP.
  have le := keep_lost keep_sub keep_card keep_small i0S i0A l; rewrite (alive_card keep_card) in le.
  rewrite /below leq_subLR; apply: leq_trans le _.
  apply: (@leq_trans #|E T :|: [set i | (i \notin S :|: E T) && geb (c T) (V T w i)]|).
    apply: subset_leq_card; apply/subsetP => i; rewrite !inE => /andP [/andP [iS' iA] /gebP g].
    have -> : geb (c T) (V T w i) by apply/gebP; lra.
    by rewrite (negbTE iS') /= andbT; case: (i \in E T).
  apply: leq_trans (leq_of_leqif (leq_card_setU _ _)) _; rewrite leq_add2l.
  by apply: subset_leq_card; apply/subsetP => i; rewrite !inE.
apply: Rle_trans (pr_or _ _ _) _; apply: Rplus_le_compat.
  by apply: IH => [t lt|t j lt|t i lt]; [apply: small | apply: high | apply: low]; exact: ltnW.
apply: Rle_trans (pr_or _ _ _) _; apply: Rplus_le_compat.
  apply: Rle_trans (pr_union J (fun j => j \in S) (fun j w => geb (V T w j) (c T))) _.
  rewrite -rsum_const_pred; apply: rsum_le => j jS; exact: high.
apply: (@pr_count_sum _ J _ [pred i | i \notin S :|: E T] (fun i w => geb (c T) (V T w i)) _ (p T)) => //.
- by rewrite subn_gt0; exact: small.
- by move=> i; rewrite inE in_setU negb_or => /andP [iN _]; exact: low.
Qed.
End Gaps.

Section Arms.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (I : finType) (a : I -> arm kappa) (best : I) (B : nat) (D : R) (E : nat -> {set I}).
Notation risk i := (Rarm theta Lam (a i)).
Notation S := (median_elimination_arms.S theta Lam a best).
Notation T := (median_elimination_arms.T I).
Notation N := (median_elimination_arms.N I B).
Notation kept t := (uphalf (alive_count I t)).
Hypotheses (minimal : forall i, risk best <= risk i) (D0 : 0 < D)
           (range : forall i f x x', @surr theta Lam kappa (a i) f x - surr theta f x' <= D) (rows_0 : (0 < N 0)%N).
Variable keep : (I -> R) -> {set I} -> {set I}.
Hypotheses (keep_sub : forall v A, keep v A \subset A) (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j)
           (left_out : forall t, (t < T)%N -> (#|E t| < kept t)%N).
Lemma rows_pos t : (0 < N t)%N.
Proof. by apply: leq_trans rows_0 _; rewrite /median_elimination_arms.N !big_ord_recl big_ord0 addn0 leq_addr. Qed.
(** Theorem 4 (a): any dependence between the arms' rows. *)
Theorem theorem_4_a (Omega : finType) (J : fdist Omega) (X : forall t i, Omega -> {ffun 'I_(N t) -> rows (a i)}) :
  (forall t i f, (t < T)%N -> ex J (fun w => f (X t i w)) = ex (draws (distribution (a i)) (N t)) f) ->
  pr J (fun w => lost S (alive keep (fun t w i => Varm theta Lam (X t i w)) T w)) <=
  \rsum_(t : 'I_T) (INR #|S| * (\rsum_(i | i \notin S :|: E t)
    (2 * exp (- (INR (N t) * (pos (excess_gap theta Lam (a best) (a i) (N t)) * pos (excess_gap theta Lam (a best) (a i) (N t))) / (2 * (D * D))))))
    / INR (kept t - #|E t|)).
Proof.
move=> HX.
apply: (median_accumulated_gaps keep_sub keep_card keep_small (i1 := best)
  (p := fun t i => 2 * exp (- (INR (N t) * (pos (excess_gap theta Lam (a best) (a i) (N t)) * pos (excess_gap theta Lam (a best) (a i) (N t))) / (2 * (D * D)))))
  (E := E)) => //; first by rewrite inE; apply/gebP; lra.
move=> t i j lt iS; rewrite inE => /gebP jS.
have e : risk j = risk best by have := minimal j; lra.
have -> : excess_gap theta Lam (a best) (a i) (N t) = excess_gap theta Lam (a j) (a i) (N t) by rewrite /excess_gap e.
exact: (@theorem_2_arbitrary theta Lam kappa Htheta Lam0 k0 (a j) (a i) (N t) D (rows_pos t) D0 (range (i := j)) (range (i := i)) _ J
   (X t j) (X t i) (fun f => HX t j f lt) (fun f => HX t i f lt)).
Qed.
(** Theorem 4 (b): the best arms are above R_1 + a, or rivals are below it. *)
Notation x i t := (excess_gap theta Lam (a best) (a i) (N t)).
Theorem theorem_4_b (Omega : finType) (J : fdist Omega) (X : forall t i, Omega -> {ffun 'I_(N t) -> rows (a i)}) (level : nat -> R) : (forall t, 0 <= level t) ->
  (forall t i f, (t < T)%N -> ex J (fun w => f (X t i w)) = ex (draws (distribution (a i)) (N t)) f) ->
  pr J (fun w => lost S (alive keep (fun t w i => Varm theta Lam (X t i w)) T w)) <=
  \rsum_(t : 'I_T) (INR #|S| * exp (- (2 * INR (N t) * (level t * level t) / (D * D)))
    + (\rsum_(i | i \notin S :|: E t) exp (- (2 * INR (N t) * (pos (x i t - level t) * pos (x i t - level t)) / (D * D))))
      / INR (kept t - #|E t|)).
Proof.
move=> l0 HX.
apply: (median_accumulated_split keep_sub keep_card keep_small (i1 := best) (E := E) (c := fun t => risk best + level t)
  (p := fun t i => exp (- (2 * INR (N t) * (pos (x i t - level t) * pos (x i t - level t)) / (D * D))))
  (h := fun t => exp (- (2 * INR (N t) * (level t * level t) / (D * D))))) => //; first by rewrite inE; apply/gebP; lra.
- move=> t j lt; rewrite inE => /gebP jS; have e : risk j = risk best by have := minimal j; lra.
  apply: Rle_trans (Req_le _ _ (HX t j (fun s => ind (geb (Varm theta Lam s) (risk best + level t))) lt)) _.
  have mean : ex (draws (distribution (a j)) (N t)) (@Varm theta Lam kappa (a j) (N t)) <= risk j by exact: (arm_mean_high Htheta Lam0 k0 (a j) (rows_pos t)).
  apply: Rle_trans (score_high (distribution (a j)) (rows_pos t) D0 (diff_i Htheta Lam0 k0 (rows_pos t) (range (i := j))) (l0 t)).
  by apply: pr_sub => s /gebP le; apply/gebP; lra.
- move=> t i lt iS; have Hn := INR_pos (rows_pos t).
  case: (Rle_dec (x i t - level t) 0) => [le|/Rnot_le_gt gt].
    rewrite /pos Rmax_left // (_ : - _ = 0) ?exp_0; last by field; lra.
    exact: pr_le1.
  rewrite /pos Rmax_right; last lra.
  apply: Rle_trans (Req_le _ _ (HX t i (fun s => ind (geb (risk best + level t) (Varm theta Lam s))) lt)) _.
  have mean := @mean_i theta Lam kappa Htheta Lam0 k0 (a i) (N t) (rows_pos t).
  apply: Rle_trans (score_low (t := x i t - level t) (distribution (a i)) (rows_pos t) D0 (diff_i Htheta Lam0 k0 (rows_pos t) (range (i := i))) _); last lra.
  by apply: pr_sub => s /gebP le; apply/gebP; rewrite /excess_gap; lra.
Qed.
End Arms.
