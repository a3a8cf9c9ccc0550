(** Theorems 1 and 2 of the paper, corrected, on the pool of pool.v with Lambda = 5 and a random training set of k + k rows: the
    bounds are below theta - R_1*, the excess risk of the model that rejects every row, and they are exceeded with a positive
    probability that is below 1. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice path fintype finfun bigop finset div prime.
From Exml Require Import finite_probability concentration selection gram rademacher arm span bayes uniform_allocation.
From Exml Require Import median_elimination median_elimination_arms registry registry_arms printed_form prefixes regret excess_risk pool witness.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition Lam : R := 5.
Lemma HL : 1 <= Lam <= 5. Proof. rewrite /Lam; lra. Qed.
Let Lam0 : 0 < Lam := Lam_pos HL.
Notation S_of tr := (median_elimination_arms.S theta Lam (fun i => tr i) best).
Notation q := (q4 theta Lam 1 (/ 8)).

(** The label determines everything: R_1* = 0, and the approximation error is at most 0. *)
Notation delta_kernel := (fun z z' : bool => ind (z == z')).
Definition bayes : R := bayes_risk coin id label_of theta.
Definition R_ap : R := approximation_error coin id label_of theta delta_kernel Lam.
Lemma bayes_none : bayes = 0. Proof. by apply: (eq_4_determined coin label_of_sq Htheta) => z z' /= ->. Qed.
Lemma pool_feature : gram_of_pool best = feature_gram id delta_kernel. Proof. by []. Qed.
Lemma R_ap_none : R_ap <= 0.
Proof.
have -> : R_ap = Rarm theta Lam (pool best) - bayes by [].
have := @informed_risk Lam HL 3 1 ltac:(rewrite /Lam; lra) ltac:(rewrite /Lam; lra).
by have := loss_none; rewrite bayes_none; lra.
Qed.
(** A model of a constant feature errs or rejects with probability at least theta. *)
Lemma constant_error i (f : ball (gram_of (pool i)) Lam) : i != best -> theta <= ex coin (error theta f).
Proof.
move=> ne; have [H [G E]] := constant_model f ne; have := eq_1 H G Htheta.
rewrite [ex _ _]ex_sgn /error; have [-> ->] := E true; have [-> ->] := E false; rewrite /= /label_of /sg; lra.
Qed.

(** * Small terms *)
Lemma ln_below x : 0 < x -> ln x <= x.
Proof. by move=> x0; have := exp_ineq1_le (ln x); rewrite exp_ln; lra. Qed.
Lemma dev_1_small n level : 1000 <= sqrt (INR n) -> 0 < level <= 98 -> dev_1 n level <= 7 / 1000.
Proof.
move=> Hn [l0 l1]; have Hm := million Hn; have L := ln_below l0.
rewrite /dev_1 -[X in _ <= X](sqrt_square (7 / 1000)); last lra.
apply: sqrt_le_1_alt; apply: (Rmult_le_reg_r (2 * INR n)); first lra.
by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.
Lemma dev_small n level : 1000 <= sqrt (INR n) -> 0 < level <= 98 -> dev theta Lam 1 n level <= 42 / 1000.
Proof.
move=> Hn Hl; have [M0 M6] := M_6 HL; have D := dev_1_small Hn Hl; rewrite /dev -/(dev_1 n level).
by have : 0 <= dev_1 n level by [exact: sqrt_pos]; nra.
Qed.
Lemma optimism_small n : 1000 <= sqrt (INR n) -> (2 - 2 * theta) / (1 - 2 * theta) * (arm.r Lam 1 / sqrt (INR n)) <= 15 / 1000.
Proof.
move=> Hn; have [i0 i1] := root_inverse Hn; rewrite /arm.r /Lam /theta.
by rewrite (_ : _ * (_ / sqrt _) = 15 * / sqrt (INR n)); [lra | field; lra].
Qed.
Lemma level_small (c : R) (A : {set 'I_4}) : 0 < c <= 12 -> best \in A -> 0 < c * INR #|A| / (1 / 2) <= 98.
Proof.
move=> Hc bA; have C := arms_le A; have : 1 <= INR #|A| by rewrite -[1]/(INR 1); apply: INR_le; apply/card_gt0P; exists best.
nra.
Qed.

Section Training.
Variables (k : nat) (x0 : 'I_(k + k)).
Hypothesis Hm : 1000 <= sqrt (INR (k + k)).
Notation m := (k + k)%N.
Notation training := {ffun 'I_m -> bool}.
Notation train tr i := (train pool_psd label_of_sq pool_diag x0 tr i).
Notation risk tr i := (Rarm theta Lam (train tr i)).
Notation S tr := (median_elimination_arms.S theta Lam (fun i => train tr i) best).
(** The assumption: the risk of a constant feature on the training set is at least 5/8. *)
Definition assumed (tr : training) : bool := [forall i, (i != best) ==> geb (Varm theta Lam (a := pool i) tr) (5 / 8)].
Lemma half_pos : (0 < k)%N.
Proof. by case: k Hm => //; rewrite /= sqrt_0; lra. Qed.
Lemma mixed_assumed : assumed (mixed k).
Proof. by apply/forallP => i; apply/implyP => ne; apply/gebP; exact: (constant_score HL half_pos ne). Qed.
Lemma train_gap tr i : assumed tr -> i != best -> / 8 <= risk tr i - risk tr best.
Proof.
move=> /forallP /(_ i) /implyP H /H /gebP; rewrite !(risk_score theta Lam0 coin pool_psd label_of_sq pool_diag x0 tr).
by have := best_score HL tr (rows_pos Hm); rewrite -![whole _ _ _ _ _]/(pool _); lra.
Qed.
Lemma train_in_S tr : best \in S tr. Proof. by rewrite inE; apply/gebP; lra. Qed.
Lemma train_conditions tr n : 1000 <= sqrt (INR n) -> assumed tr ->
  conditions theta Lam pool_psd label_of_sq pool_diag x0 best predT (fun _ => / 8) tr n.
Proof.
move=> Hn A; split=> //; try lra.
- by move=> i; case: (eqVneq i best) => [->|/(train_gap A)]; lra.
- by move=> i iS; apply: train_gap => //; apply: contraNneq iS => ->; exact: train_in_S.
- exact: (pool_launched HL Hn).
Qed.
(** The score of an arm of the training set on drawn rows is the score of the pool's arm on the labels of these rows. *)
Lemma train_score tr i n (s : {ffun 'I_n -> 'I_m}) : Varm theta Lam (a := train tr i) s = Varm theta Lam (a := pool i) [ffun j => tr (s j)].
Proof.
pose F (u v : 'I_m -> R) := / INR n * \rsum_j loss theta (label_of (tr (s j)) * u (s j)) (v (s j)).
have E := @ball_of_span _ _ _ tr (pool_psd i) Lam (Rlt_le _ _ Lam0) F 0.
have -> : Varm theta Lam (a := train tr i) s = inf (fun f : ball (rows_gram (gram_of_pool i) tr) Lam => F (h f) (g f)) by [].
rewrite E.
- by apply: inf_ext => f; congr (_ * _); apply: eq_bigr => j _; rewrite ffunE.
- move=> u v u' v' eu ev; congr (_ * _); apply: eq_bigr => j _; by rewrite eu ev.
- move=> u v; apply: Rmult_le_pos.
    case: (n) => [|n']; first by rewrite /= Rinv_0; lra.
    by apply: Rlt_le; apply: Rinv_0_lt_compat; exact: INR_pos.
  by apply: rsum_ge0 => j _; exact: Rmax_r.
Qed.
Lemma train_tie tr i n (s : {ffun 'I_n -> 'I_m}) : (0 < n)%N -> (forall j, s j = x0) ->
  Varm theta Lam (a := train tr i) s <= Varm theta Lam (a := train tr best) s.
Proof.
by move=> n0 E; rewrite !train_score; apply: (one_label HL (z0 := tr x0)) => // j; rewrite ffunE E.
Qed.
Lemma train_learned n eps : 0 < eps ->
  exists learned : forall tr i, {ffun 'I_n -> 'I_m} -> ball (gram_of (train tr i)) Lam,
  forall tr i s, emp (@surr theta Lam 1 (train tr i)) s (learned tr i s) <= Varm theta Lam (a := train tr i) s + eps.
Proof.
move=> e0.
have [F HF] : exists F : forall q : training * 'I_4, {ffun 'I_n -> 'I_m} -> ball (gram_of (train q.1 q.2)) Lam,
    forall q, forall s, emp (@surr theta Lam 1 (train q.1 q.2)) s (F q s) <= Varm theta Lam (a := train q.1 q.2) s + eps.
  apply: (finite_choice_dep (T := prod_finType _ (ordinal_finType 4)) (fun q _ => zero Lam0 (train q.1 q.2))
    (P := fun q F => forall s, emp (@surr theta Lam 1 (train q.1 q.2)) s (F s) <= Varm theta Lam (a := train q.1 q.2) s + eps)) => q.
  exact: (learned_exists Htheta Lam0 one_pos (train q.1 q.2) n e0).
by exists (fun tr i => F (tr, i)) => tr i s; exact: (HF (tr, i) s).
Qed.
Lemma cost_small : training_cost theta Lam 1 m (predT : pred 'I_4) (1 / 2) <= 64 / 1000.
Proof.
have := optimism_small Hm; have := @dev_small m (3 / (1 / 2)) Hm ltac:(lra).
have := @dev_1_small m (3 * INR #|(predT : pred 'I_4)| / (1 / 2)) Hm; rewrite card_ord (_ : INR 4 = 4); last by rewrite /=; lra.
by move=> /(_ ltac:(lra)); rewrite /training_cost /bound_3 card_ord (_ : INR 4 = 4); [lra | rewrite /=; lra].
Qed.
Lemma fail_small n (C : R) : 1000 <= sqrt (INR n) -> 0 <= C <= 4 -> C * (2 * q n) <= 8 / 100.
Proof. by move=> Hn HC; have := pool_q HL Hn; have := q_pos theta Lam 1 (/ 8) n; nra. Qed.
Notation excess model J bound := (ex (draws coin m) (fun tr => ind (assumed tr) * pr J (fun w =>
  geb (final_risk theta coin model tr w - bayes) (bound tr + R_ap)))).
(** An excess risk of theta is reached with positive probability if the draws of one row select a constant feature. *)
Lemma excess_pos (Omega : finType) (J : fdist Omega) sel (model : forall tr (w : Omega), ball (gram_of (train tr (sel tr w))) Lam)
  (bound : training -> R) w : 0 < J w -> (forall tr, sel tr w != best) -> (forall tr, bound tr + R_ap < theta - bayes) ->
  0 < excess model J bound.
Proof.
move=> Jw ne small; apply: (ex_pos (x := mixed k)).
- by move=> tr; apply: Rmult_le_pos; [rewrite /ind; case: ifP; lra | exact: pr_ge0].
- by apply: draws_pos => z; exact: unif_pos.
- rewrite mixed_assumed /ind Rmult_1_l; apply: (pr_pos (x := w)) => //; apply/gebP.
  apply: (Rle_trans _ (theta - bayes)); first by have := small (mixed k); lra.
  by apply: Rplus_le_compat_r; exact: (constant_error (extend (pool_psd _) (model (mixed k) w)) (ne (mixed k))).
Qed.

(** * Theorem 1 *)
Definition first_choice n (tr : training) (s : {ffun 'I_n -> 'I_m}) : 'I_4 :=
  smallest best (fun i => Varm theta Lam (a := train tr i) s).
Theorem pool_theorem_1_paper n : 1000 <= sqrt (INR n) ->
  exists learned : forall tr i, {ffun 'I_n -> 'I_m} -> ball (gram_of (train tr i)) Lam,
  let model := uniform_model (@first_choice n) (fun _ _ s => s) learned in
  let bound := bound_1 theta Lam pool_psd label_of_sq pool_diag x0 best predT (1 / 100) (1 / 2) n in
  let level := 1 / 2 + ex (draws coin m) (fun tr => ind (assumed tr) * fail_1 theta Lam pool_psd label_of_sq pool_diag x0 best (fun _ => / 8) n tr) in
  [/\ 0 < excess model (draws (unif x0) n) bound <= level, level < 1 & forall tr, bound tr + R_ap < theta - bayes].
Proof.
move=> Hn; have [learned Hl] := @train_learned n (1 / 100) ltac:(lra); exists learned => model bound level.
have n0 := rows_pos Hn.
have small tr : bound tr + R_ap < theta - bayes.
  rewrite bayes_none; have := R_ap_none; have := cost_small; have := optimism_small Hn.
  have := @dev_small n (2 / (1 / 2 / 3)) Hn ltac:(lra).
  have := level_small (c := 6) ltac:(lra) (train_in_S tr); rewrite (_ : 6 * _ / (1 / 2) = 2 * INR #|S tr| / (1 / 2 / 3)); last by field.
  move=> /(dev_small Hn); rewrite /bound /bound_1 /regret_1.
  move: (training_cost _ _ _ _ _ _) (_ * (_ / sqrt _)) (dev _ _ _ _ (2 * _ / _)) (dev _ _ _ _ (2 / _)) => a1 a2 a3 a4.
  by rewrite (erefl : theta = / 4); lra.
split=> //.
  split.
    apply: (@excess_pos _ _ _ _ _ [ffun _ => x0]) => //; first by apply: draws_pos => z; exact: unif_pos.
    move=> tr; apply: (smallest_rival (i := rival) rival_ne); apply: train_tie => // j; by rewrite ffunE.
  apply: (@theorem_1_paper theta Lam 1 Htheta Lam0 one_pos _ _ coin gram_of_pool label_of pool_psd label_of_sq pool_diag m x0 best
    predT (1 / 100) (1 / 2) _ _ assumed (fun _ => / 8) _ (fun _ => draws (unif x0) n) (@first_choice n) _ _ _ pool_feature n
    (fun _ _ s => s) learned n0 (fun _ _ _ => erefl) _ Hl (fun tr => train_conditions Hn)); first lra.
    by rewrite card_ord.
  by move=> tr w i; exact: (smallestP best (fun i => Varm theta Lam (a := train tr i) w)).
suff : ex (draws coin m) (fun tr => ind (assumed tr) * fail_1 theta Lam pool_psd label_of_sq pool_diag x0 best (fun _ => / 8) n tr) <= 16 / 100.
  by rewrite /level; lra.
rewrite -[X in _ <= X](ex_const (draws coin m)); apply: ex_le => tr; rewrite /fail_1.
have := @fail_small n (INR #|~: S tr|) Hn; have := arms_le (~: S tr); have := pos_INR #|~: S tr|; rewrite /ind.
by case: ifP => _ ? ? H; [move: (H ltac:(lra)) |]; lra.
Qed.

(** * Theorem 2: two rounds *)
Theorem pool_theorem_2_paper B : 1000 <= sqrt (INR (median_elimination_arms.n (ordinal_finType 4) B 0)) ->
  let N := median_elimination_arms.N (ordinal_finType 4) B in let T := median_elimination_arms.T (ordinal_finType 4) in
  let rows_of (tr : training) t (_ : 'I_4) := prefix_of (B := B) x0 t in
  let sel tr := last_left (fun t s i => Varm theta Lam (a := train tr i) (rows_of tr t i s)) in
  exists learned : forall tr i, {ffun 'I_(N T.-1) -> 'I_m} -> ball (gram_of (train tr i)) Lam,
  let model := median_model sel rows_of learned in
  let bound := bound_2 theta Lam pool_psd label_of_sq pool_diag x0 best predT (1 / 100) (1 / 2) B in
  let level := 1 / 2 + ex (draws coin m) (fun tr => ind (assumed tr) * fail_2 theta Lam pool_psd label_of_sq pool_diag x0 best (fun _ => / 8) B tr) in
  [/\ 0 < excess model (draws (unif x0) (total B)) bound <= level, level < 1 & forall tr, bound tr + R_ap < theta - bayes].
Proof.
move=> Hn N T rows_of sel; have [learned Hl] := @train_learned (N T.-1) (1 / 100) ltac:(lra); exists learned => model bound level.
have HN t : 1000 <= sqrt (INR (N t)).
  by apply: Rle_trans Hn _; apply: sqrt_le_1_alt; apply: INR_le; rewrite /N /median_elimination_arms.N big_ord_recl leq_addr.
have small tr : bound tr + R_ap < theta - bayes.
  rewrite bayes_none; have := R_ap_none; have := cost_small; have := optimism_small (HN T.-1).
  have := level_small (c := 6) ltac:(lra) (train_in_S tr); rewrite (_ : 6 * _ / (1 / 2) = 2 * INR #|S tr| / (1 / 2 / 3)); last by field.
  move=> /(dev_small (HN T.-1)); rewrite /bound /bound_2 /regret_2 -/N -/T.
  move: (training_cost _ _ _ _ _ _) (_ * (_ / sqrt _)) (dev _ _ _ _ (2 * _ / _)) => a1 a2 a3.
  by rewrite (erefl : theta = / 4); lra.
split=> //.
  split.
    apply: (@excess_pos _ _ _ _ _ [ffun _ => x0]) => //; first by apply: draws_pos => z; exact: unif_pos.
    move=> tr; have := last_left_in (fun t s i => Varm theta Lam (a := train tr i) (rows_of tr t i s)) [ffun _ => x0].
    apply: contraTneq => e; rewrite -[last_left _ _]/(sel tr [ffun _ => x0]) e; apply: dropped => i.
    apply: train_tie; first exact: first_round.
    by move=> j; exact: prefix_of_single.
  apply: (@theorem_2_paper theta Lam 1 Htheta Lam0 one_pos _ _ coin gram_of_pool label_of pool_psd label_of_sq pool_diag m x0 best
    predT (1 / 100) (1 / 2) _ _ assumed (fun _ => / 8) _ (fun _ => draws (unif x0) (total B)) sel _ _ _ pool_feature B (better_half best)
    (@better_half_sub _ _) (@better_half_card _ _) (@better_half_small _ _) rows_of learned _ _ Hl (fun tr => train_conditions Hn)); first lra.
  - by rewrite card_ord.
  - by move=> tr t i f; exact: prefix_of_draws.
  - by move=> tr w; exact: last_left_in.
suff : ex (draws coin m) (fun tr => ind (assumed tr) * fail_2 theta Lam pool_psd label_of_sq pool_diag x0 best (fun _ => / 8) B tr) <= 16 / 100.
  by rewrite /level; lra.
rewrite -[X in _ <= X](ex_const (draws coin m)); apply: ex_le => tr; rewrite /fail_2 /ind.
case: ifP => _; last lra; rewrite Rmult_1_l pool_rounds.
have C : 0 <= INR (#|S tr| * #|~: S tr|) <= 4.
  have := cardsC (S tr); rewrite card_ord => E; have := congr1 INR E; rewrite plus_INR mult_INR (_ : INR 4 = 4); last by rewrite /=; lra.
  by have := pos_INR #|S tr|; have := pos_INR #|~: S tr|; have := Rle_0_sqr (INR #|S tr| - INR #|~: S tr|); rewrite /Rsqr; nra.
have one (t : 'I_2) : INR (#|S tr| * #|~: S tr|) * (2 * q (N t)) / INR (uphalf (alive_count (ordinal_finType 4) t)) <= 8 / 100.
  have F := fail_small (HN t) C; have F0 : 0 <= INR (#|S tr| * #|~: S tr|) * (2 * q (N t)).
    by apply: Rmult_le_pos; [lra | have := q_pos theta Lam 1 (/ 8) (N t); lra].
  have u1 : 1 <= INR (uphalf (alive_count (ordinal_finType 4) t)).
    rewrite -[1]/(INR 1); apply: INR_le; apply: uphalf_pos; apply: iter_uphalf_gt0; by rewrite card_ord.
  apply: Rle_trans F; apply: (Rmult_le_reg_r (INR (uphalf (alive_count (ordinal_finType 4) t)))); first lra.
  by rewrite {1}/Rdiv Rmult_assoc Rinv_l; nra.
apply: Rle_trans (rsum_le (fun t _ => one t)) _; rewrite rsum_const card_ord /=; lra.
Qed.
End Training.
