(** Identities and inequalities of the registry of claims (docs/CLAIMS.md) about real numbers, one theorem per claim.
    n stands for a number of rows, K for the number of arms, gap for Delta, r for kappa Lambda; all are real numbers, which
    includes the whole numbers of the paper. [paper_c theta] is (1 - theta)/(1 - 2 theta). *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Rbar Lim_seq.
From Exml Require Import arm calibration uniform_allocation.
Open Scope R_scope.

Definition margin (n gap theta r : R) : R := gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n).
Definition tail (n gap theta r : R) : R := exp (- (2 / 9 * n * (margin n gap theta r) ^ 2)).
Definition fail_uniform (n K gap theta r : R) : R := 4 * (K - 1) * tail n gap theta r.
Definition fail_median (n gap theta r : R) : R := 8 * tail n gap theta r / (1 - tail n gap theta r).
(** The identification condition with the factor 16 or 64. *)
Definition identified (factor n gap theta r : R) : Prop :=
  factor * ((1 - theta) * r) ^ 2 / ((1 - 2 * theta) * gap) ^ 2 < n.
Definition deviation (level n : R) : R := sqrt (ln level / (2 * n)).

Lemma c_ge_1 theta : 0 < theta < / 2 -> 1 <= paper_c theta.
Proof.
  intros H. unfold paper_c. apply Rmult_le_reg_r with (1 - 2 * theta); [ lra | ].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma margin_c n gap theta r : 0 < theta < / 2 -> 0 < n -> margin n gap theta r = gap / 2 - 2 * paper_c theta * r / sqrt n.
Proof. intros H Hn. unfold margin, paper_c. assert (S := sqrt_lt_R0 n Hn). field. lra. Qed.

Lemma root_of_rows f n gap theta r :
  0 < theta < / 2 -> 0 <= f -> 0 < r -> 0 < gap -> identified (f * f) n gap theta r ->
  0 < n /\ f * paper_c theta * r < gap * sqrt n.
Proof.
  intros H Hf Hr Hg Hn. unfold identified in Hn. assert (C := c_ge_1 theta H).
  replace (f * f * ((1 - theta) * r) ^ 2 / ((1 - 2 * theta) * gap) ^ 2)
    with ((f * paper_c theta * r / gap) * (f * paper_c theta * r / gap)) in Hn by (unfold paper_c; field; lra).
  set (x := f * paper_c theta * r / gap) in *.
  assert (X : 0 <= x).
  { unfold x. apply Rmult_le_pos; [ apply Rmult_le_pos; [ apply Rmult_le_pos | ]; lra | left; apply Rinv_0_lt_compat; lra ]. }
  assert (N : 0 < n) by nra.
  split; [ exact N | ].
  assert (L : x < sqrt n).
  { apply Rsqr_incrst_0; [ | exact X | apply sqrt_pos ]. rewrite Rsqr_sqrt by lra. exact Hn. }
  replace (f * paper_c theta * r) with (gap * x) by (unfold x; field; lra).
  apply Rmult_lt_compat_l; assumption.
Qed.

Lemma exp_le_compat x y : x <= y -> exp x <= exp y.
Proof. intros [H | H]; [ left; apply exp_increasing; exact H | rewrite H; lra ]. Qed.

(** * Losses *)

(** eq-2-upper-bound, and eq-2 corrected; y h <= 0 counts as an error. *)
Definition loss_0_1 (theta h g y : R) : R := if Rle_dec g 0 then theta else if Rle_dec (y * h) 0 then 1 else 0.
Theorem eq_2_upper_bound theta h g y : 0 < theta < / 2 -> loss_0_1 theta h g y <= loss theta (y * h) g.
Proof.
  intros H. assert (P := first_piece theta (y * h) g). assert (Q := second_piece theta (y * h) g).
  assert (N := not_negative theta (y * h) g). unfold loss_0_1.
  destruct (Rle_dec g 0) as [G | G].
  - assert (S := quotient_sign theta (- g) H ltac:(lra)).
    replace (- g / (1 - 2 * theta)) with (- (g / (1 - 2 * theta))) in S by (field; lra). nra.
  - destruct (Rle_dec (y * h) 0); lra.
Qed.

(** surrogate-affine *)
Theorem surrogate_affine theta h g y :
  0 < theta < / 2 -> y = 1 \/ y = -1 -> Rabs h <= 1 - 2 * theta -> Rabs g <= 1 - 2 * theta ->
  loss theta (y * h) g = 1 + (g - y * h) / 2.
Proof.
  intros H Y Hh Hg. apply (loss_affine theta (1 - 2 * theta)); try assumption; try lra.
  destruct Y; subst y; [ rewrite Rmult_1_l; exact Hh | replace (-1 * h) with (- h) by ring; rewrite Rabs_Ropp; exact Hh ].
Qed.

(** eq-3-quadratic-program: the loss is the least slack that satisfies the three constraints. *)
Definition feasible (theta h g y xi : R) : Prop :=
  1 + (g - y * h) / 2 <= xi /\ theta * (1 - g / (1 - 2 * theta)) <= xi /\ 0 <= xi.
Theorem eq_3_quadratic_program theta h g y :
  feasible theta h g y (loss theta (y * h) g) /\ forall xi, feasible theta h g y xi -> loss theta (y * h) g <= xi.
Proof.
  split.
  - repeat split; [ apply first_piece | apply second_piece | apply not_negative ].
  - intros xi (A & B & C). unfold loss. apply Rmax_lub; [ apply Rmax_lub | ]; assumption.
Qed.

(** * Decompositions: the risks are arbitrary numbers. *)

(** eq-8 corrected, a2-step-1, a3-step-1: risk and surrogate risk of the selected model, its risk on the training set,
    and the risks of f1 hat star and f1 star on the training set and in the population. *)
Theorem decomposition risk_selected bayes train_selected train_best train_star surrogate_star :
  risk_selected - bayes = (risk_selected - train_selected) + (train_selected - train_best) + (train_best - train_star)
    + (train_star - surrogate_star) + (surrogate_star - bayes).
Proof. ring. Qed.

(** a4-identity *)
Theorem a4_identity train_learned train_best score_learned score_best :
  train_learned - train_best
  = (train_learned - score_learned) + (score_learned - score_best) + (score_best - train_best).
Proof. ring. Qed.

(** a6-split *)
Theorem a6_split best learned score : best - score = (best - learned) + (learned - score).
Proof. ring. Qed.

(** a6-inclusion *)
Theorem a6_inclusion score first risk best :
  score < first -> score < risk - (risk - best) / 2 \/ first > best + (risk - best) / 2.
Proof. intros H. destruct (Rlt_dec score (risk - (risk - best) / 2)); [ left | right ]; lra. Qed.

(** * Margins under the identification conditions *)

(** a2-quarter, a2-absolute-constant corrected *)
Theorem a2_quarter n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r -> gap / 4 <= margin n gap theta r.
Proof.
  intros H Hr Hg Hn. replace 64 with (8 * 8) in Hn by ring.
  destruct (root_of_rows 8 n gap theta r H ltac:(lra) Hr Hg Hn) as [N L]. rewrite margin_c by assumption.
  assert (S := sqrt_lt_R0 n N).
  assert (2 * paper_c theta * r / sqrt n <= gap / 4); [ | lra ].
  apply Rmult_le_reg_r with (sqrt n); [ exact S | ]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** a3-quarter: the rows floor(B/K) of the display are at least n. *)
Theorem a3_quarter n rows gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r -> n <= rows -> gap / 4 <= margin rows gap theta r.
Proof. intros H Hr Hg Hn L. apply a2_quarter; try assumption. unfold identified in *. lra. Qed.

(** a3-numerator *)
Theorem a3_numerator n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r -> tail n gap theta r <= exp (- (gap ^ 2 / 72 * n)).
Proof.
  intros H Hr Hg Hn. assert (Q := a2_quarter n gap theta r H Hr Hg Hn).
  replace 64 with (8 * 8) in Hn by ring.
  destruct (root_of_rows 8 n gap theta r H ltac:(lra) Hr Hg Hn) as [N _].
  unfold tail. apply exp_le_compat. apply Ropp_le_contravar.
  assert ((gap / 4) ^ 2 <= margin n gap theta r ^ 2) by (apply pow_incr; lra).
  replace (gap ^ 2 / 72 * n) with (2 / 9 * n * (gap / 4) ^ 2) by field. apply Rmult_le_compat_l; lra.
Qed.

(** thm-1-delta-order corrected, a2-delta-line-2 corrected *)
Theorem thm_1_delta_order n K gap theta r :
  0 < theta < / 2 -> 2 <= K -> 0 < r -> 0 < gap -> identified 64 n gap theta r ->
  fail_uniform n K gap theta r <= 4 * (K - 1) * exp (- (gap ^ 2 * n / 72)).
Proof.
  intros H HK Hr Hg Hn. unfold fail_uniform. apply Rmult_le_compat_l; [ lra | ].
  replace (gap ^ 2 * n / 72) with (gap ^ 2 / 72 * n) by field. apply a3_numerator; assumption.
Qed.

(** a2-delta-line-1 corrected: Eq. 9 is the display with 2 - 2 theta. *)
Theorem a2_delta_line_1 n K gap theta r :
  0 < theta < / 2 -> 0 < n ->
  fail_uniform n K gap theta r
  = 4 * (K - 1) * exp (- (2 / 9) * n * (gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n)) ^ 2).
Proof. intros H Hn. unfold fail_uniform, tail, margin. f_equal. f_equal. ring. Qed.

(** a2-delta-line-3 *)
Theorem a2_delta_line_3 n gap : 2 / 9 * n * (gap ^ 2 / 16) = gap ^ 2 / 72 * n.
Proof. field. Qed.

(** a2-delta-line-4 corrected *)
Theorem a2_delta_line_4 n K gap : 4 * (K - 1) * exp (- (gap ^ 2 / 72 * n)) <= 4 * K * exp (- (gap ^ 2 / 72 * n)).
Proof. assert (0 < exp (- (gap ^ 2 / 72 * n))) by apply exp_pos. apply Rmult_le_compat_r; lra. Qed.

(** a3-delta: Eq. 11 and the display of A.3 have the same q. *)
Theorem a3_delta n gap theta r :
  fail_median n gap theta r
  = 8 * exp (- (2 / 9 * n * (gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n)) ^ 2))
    / (1 - exp (- (2 / 9 * n * (gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n)) ^ 2))).
Proof. reflexivity. Qed.

(** The constant C of A.3 times the squared gap. *)
Theorem a3_constant gap theta r :
  0 < theta < / 2 -> 0 < gap ->
  64 * ((1 - theta) * r) ^ 2 / ((1 - 2 * theta) * gap) ^ 2 * gap ^ 2 = 64 * (paper_c theta * r) ^ 2.
Proof. intros H Hg. unfold paper_c. field. lra. Qed.

(** a3-denominator-1 *)
Theorem a3_denominator_1 n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r ->
  1 - tail n gap theta r >= 1 - exp (- (gap ^ 2 / 72 * n)).
Proof. intros H Hr Hg Hn. assert (Q := a3_numerator n gap theta r H Hr Hg Hn). lra. Qed.

(** a3-denominator-2 *)
Theorem a3_denominator_2 n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r ->
  1 - exp (- (gap ^ 2 / 72 * n)) >= 1 - exp (- (8 / 9 * (paper_c theta) ^ 2 * r ^ 2)).
Proof.
  intros H Hr Hg Hn. assert (E := a3_constant gap theta r H Hg). unfold identified in Hn.
  assert (G : 0 < gap ^ 2) by (apply pow_lt; exact Hg).
  assert (64 * (paper_c theta * r) ^ 2 <= n * gap ^ 2) by (rewrite <- E; apply Rmult_le_compat_r; lra).
  assert (exp (- (gap ^ 2 / 72 * n)) <= exp (- (8 / 9 * (paper_c theta) ^ 2 * r ^ 2))); [ | lra ].
  apply exp_le_compat. apply Ropp_le_contravar.
  replace ((paper_c theta * r) ^ 2) with (paper_c theta ^ 2 * r ^ 2) in H0 by ring. lra.
Qed.

(** a3-absolute-constant: the right side does not depend on B. *)
Theorem a3_absolute_constant n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r ->
  1 - tail n gap theta r >= 1 - exp (- (8 / 9 * (paper_c theta) ^ 2 * r ^ 2)).
Proof.
  intros H Hr Hg Hn. assert (A := a3_denominator_1 n gap theta r H Hr Hg Hn).
  assert (B := a3_denominator_2 n gap theta r H Hr Hg Hn). lra.
Qed.

(** thm-2-delta-order corrected, a3-order corrected *)
Theorem thm_2_delta_order n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r ->
  fail_median n gap theta r <= 8 * exp (- (gap ^ 2 * n / 72)) / (1 - exp (- (8 / 9 * (paper_c theta) ^ 2 * r ^ 2))).
Proof.
  intros H Hr Hg Hn. assert (A := a3_numerator n gap theta r H Hr Hg Hn).
  assert (B := a3_absolute_constant n gap theta r H Hr Hg Hn). assert (C := c_ge_1 theta H).
  assert (D : 0 < 1 - exp (- (8 / 9 * paper_c theta ^ 2 * r ^ 2))).
  { assert (0 < paper_c theta ^ 2) by (apply pow_lt; lra). assert (0 < r ^ 2) by (apply pow_lt; lra).
    assert (exp (- (8 / 9 * paper_c theta ^ 2 * r ^ 2)) < exp 0); [ apply exp_increasing; nra | rewrite exp_0 in *; lra ]. }
  unfold fail_median. replace (gap ^ 2 * n / 72) with (gap ^ 2 / 72 * n) by field.
  assert (T : 0 < tail n gap theta r) by apply exp_pos.
  unfold Rdiv. apply Rmult_le_compat; [ lra | left; apply Rinv_0_lt_compat; lra | lra | apply Rinv_le_contravar; lra ].
Qed.

(** a6-condition *)
Theorem a6_condition n gap gap_i theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> gap <= gap_i -> identified 16 n gap theta r ->
  gap_i / 2 >= gap / 2 /\ gap / 2 > (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n).
Proof.
  intros H Hr Hg Hi Hn. split; [ lra | ]. replace 16 with (4 * 4) in Hn by ring.
  destruct (root_of_rows 4 n gap theta r H ltac:(lra) Hr Hg Hn) as [N L].
  assert (E := margin_c n gap theta r H N). unfold margin in E. assert (S := sqrt_lt_R0 n N).
  assert (2 * paper_c theta * r / sqrt n < gap / 2); [ | lra ].
  apply Rmult_lt_reg_r with (sqrt n); [ exact S | ]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** a6-conclusion *)
Theorem a6_conclusion n x : 2 * exp (- (2 / 9 * n * x ^ 2)) + 2 * exp (- (2 / 9 * n * x ^ 2)) = 4 * exp (- (2 / 9 * n * x ^ 2)).
Proof. ring. Qed.

Lemma margin_increases n rows gap gap_i theta r :
  0 < theta < / 2 -> 0 < r -> 0 < n -> n <= rows -> gap <= gap_i -> margin n gap theta r <= margin rows gap_i theta r.
Proof.
  intros H Hr Hn L G. rewrite !margin_c by lra. assert (S := sqrt_lt_R0 n Hn). assert (C := c_ge_1 theta H).
  assert (sqrt n <= sqrt rows) by (apply sqrt_le_1_alt; exact L).
  assert (2 * paper_c theta * r / sqrt rows <= 2 * paper_c theta * r / sqrt n); [ | lra ].
  unfold Rdiv. apply Rmult_le_compat_l; [ | apply Rinv_le_contravar; lra ].
  apply Rmult_le_pos; lra.
Qed.

(** a5-pairs-line-2 *)
Theorem a5_pairs_line_2 n rows gap gap_i theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> gap <= gap_i -> n <= rows -> identified 16 n gap theta r ->
  rows * (margin rows gap_i theta r) ^ 2 >= rows * (margin n gap theta r) ^ 2.
Proof.
  intros H Hr Hg Hi L Hn. destruct (a6_condition n gap gap_i theta r H Hr Hg Hi Hn) as [_ P].
  replace 16 with (4 * 4) in Hn by ring. destruct (root_of_rows 4 n gap theta r H ltac:(lra) Hr Hg Hn) as [N _].
  assert (M := margin_increases n rows gap gap_i theta r H Hr N L Hi).
  apply Rle_ge. apply Rmult_le_compat_l; [ lra | ]. apply pow_incr. split; [ unfold margin; lra | exact M ].
Qed.

(** a4-min-gap corrected: gaps lists the positive gaps, and gap is the smallest of them. *)
Fixpoint tails (n theta r : R) (gaps : list R) : R :=
  match gaps with nil => 0 | cons gap rest => 4 * tail n gap theta r + tails n theta r rest end.
Theorem a4_min_gap n gap theta r gaps :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 16 n gap theta r -> (forall g, List.In g gaps -> gap <= g) ->
  tails n theta r gaps <= 4 * INR (length gaps) * tail n gap theta r.
Proof.
  intros H Hr Hg Hn. induction gaps as [ | g rest IH ]; intros L; [ simpl; lra | ].
  cbn [tails length]. rewrite S_INR. assert (IH' := IH (fun x X => L x (or_intror X))).
  assert (G : gap <= g) by (apply L; left; reflexivity).
  assert (P := a5_pairs_line_2 n n gap g theta r H Hr Hg G ltac:(lra) Hn).
  assert (tail n g theta r <= tail n gap theta r); [ | lra ].
  unfold tail. apply exp_le_compat. lra.
Qed.

(** thm-1-decay: doubling the rows at least doubles the exponent. *)
Theorem thm_1_decay n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 64 n gap theta r ->
  2 * (2 / 9 * n * (margin n gap theta r) ^ 2) <= 2 / 9 * (2 * n) * (margin (2 * n) gap theta r) ^ 2.
Proof.
  intros H Hr Hg Hn. assert (Q := a2_quarter n gap theta r H Hr Hg Hn).
  replace 64 with (8 * 8) in Hn by ring. destruct (root_of_rows 8 n gap theta r H ltac:(lra) Hr Hg Hn) as [N _].
  assert (M := margin_increases n (2 * n) gap gap theta r H Hr N ltac:(lra) ltac:(lra)).
  replace (2 * (2 / 9 * n * margin n gap theta r ^ 2)) with (2 / 9 * (2 * n) * margin n gap theta r ^ 2) by ring.
  apply Rmult_le_compat_l; [ lra | ]. apply pow_incr. lra.
Qed.

(** * Rates and sums of displayed bounds *)

Definition rademacher_term (theta r n : R) : R := (4 - 4 * theta) / (1 - 2 * theta) * (r / sqrt n).
(** The bound of term (b) on n rows; on all B rows it is the bound of supervised learning, Eq. 6 without R_ap. *)
Definition regret (theta r delta n : R) : R := rademacher_term theta r n + 2 * deviation (2 / delta) n.

Lemma deviation_scale level k n : 0 < k -> 0 < n -> deviation level (n / k) = sqrt k * deviation level n.
Proof.
  intros Hk Hn. unfold deviation. rewrite <- sqrt_mult_alt by lra. f_equal. field. lra.
Qed.
Lemma root_scale k n : 0 < k -> 0 < n -> / sqrt (n / k) = sqrt k / sqrt n.
Proof.
  intros Hk Hn. rewrite sqrt_div_alt by assumption. assert (A := sqrt_lt_R0 k Hk). assert (B := sqrt_lt_R0 n Hn). field. lra.
Qed.
Lemma regret_scale theta r delta k n : 0 < k -> 0 < n -> regret theta r delta (n / k) = sqrt k * regret theta r delta n.
Proof.
  intros Hk Hn. unfold regret, rademacher_term. rewrite deviation_scale by assumption.
  unfold Rdiv at 2. rewrite root_scale by assumption. unfold Rdiv. ring.
Qed.

(** remark-6-sqrt-k: K divides B, so that uniform allocation has B/K rows. *)
Theorem remark_6_sqrt_k theta r delta K B : 0 < K -> 0 < B -> regret theta r delta (B / K) = sqrt K * regret theta r delta B.
Proof. apply regret_scale. Qed.

(** remark-7-sqrt-log corrected: L stands for log2 K * K / (K - 1), and B / L is the number of rows. *)
Theorem remark_7_sqrt_log theta r delta L B : 0 < L -> 0 < B -> regret theta r delta (B / L) = sqrt L * regret theta r delta B.
Proof. apply regret_scale. Qed.

(** sl-rate: four times the budget halves the bound. *)
Theorem sl_rate theta r delta B : 0 < B -> regret theta r delta (4 * B) = regret theta r delta B / 2.
Proof.
  intros HB. assert (E := regret_scale theta r delta 4 (4 * B) ltac:(lra) ltac:(lra)).
  replace (4 * B / 4) with B in E by field.
  assert (R2 : sqrt 4 = 2) by (replace 4 with (2 * 2) by ring; apply sqrt_square; lra). rewrite R2 in E. lra.
Qed.

(** a4-sum: the bounds of terms (a) and (c). *)
Theorem a4_sum theta r delta n :
  0 < theta < / 2 -> 0 < n ->
  ((2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n) + deviation (2 / delta) n)
  + ((2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt n) + deviation (2 / delta) n) = regret theta r delta n.
Proof. intros H Hn. unfold regret, rademacher_term. assert (S := sqrt_lt_R0 n Hn). field. lra. Qed.

(** a2-sum and a3-sum: the three bounds at delta/3; n is floor(B/K) in A.2 and floor(B/log2 K) in A.3. *)
Definition term_d (theta r delta m : R) : R := (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt m) + deviation (1 / delta) m.
Theorem a2_sum theta r delta n m :
  0 < theta < / 2 -> 0 < n -> 0 < m -> 0 < delta ->
  term_d theta r (delta / 3) m + regret theta r (delta / 3) n + term_d theta r (delta / 3) m
  = (4 - 4 * theta) / (1 - 2 * theta) * (r / sqrt m + r / sqrt n) + 2 * deviation (3 / delta) m + 2 * deviation (6 / delta) n.
Proof.
  intros H Hn Hm Hd. unfold term_d, regret, rademacher_term.
  replace (1 / (delta / 3)) with (3 / delta) by (field; lra). replace (2 / (delta / 3)) with (6 / delta) by (field; lra).
  assert (S := sqrt_lt_R0 n Hn). assert (T := sqrt_lt_R0 m Hm). field. lra.
Qed.

(** a2-order corrected: n <= m. *)
Theorem a2_order theta r delta n m :
  0 < theta < / 2 -> 0 < r -> 0 < n -> n <= m -> 0 < delta < 1 ->
  (4 - 4 * theta) / (1 - 2 * theta) * (r / sqrt m + r / sqrt n) + 2 * deviation (3 / delta) m + 2 * deviation (6 / delta) n
  <= 8 * paper_c theta * (r / sqrt n + deviation (6 / delta) n).
Proof.
  intros H Hr Hn L Hd. assert (C := c_ge_1 theta H). assert (S := sqrt_lt_R0 n Hn).
  replace ((4 - 4 * theta) / (1 - 2 * theta)) with (4 * paper_c theta) by (unfold paper_c; field; lra).
  assert (A : r / sqrt m <= r / sqrt n).
  { unfold Rdiv. apply Rmult_le_compat_l; [ lra | ]. apply Rinv_le_contravar; [ exact S | apply sqrt_le_1_alt; exact L ]. }
  assert (B : deviation (3 / delta) m <= deviation (6 / delta) n).
  { unfold deviation. apply sqrt_le_1_alt. assert (0 < / delta) by (apply Rinv_0_lt_compat; lra).
    assert (1 < / delta) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra).
    assert (0 <= ln (3 / delta)) by (rewrite <- ln_1; left; apply ln_increasing; unfold Rdiv; lra).
    assert (ln (3 / delta) <= ln (6 / delta)) by (left; apply ln_increasing; unfold Rdiv; lra).
    unfold Rdiv at 1 3. apply Rmult_le_compat; [ lra | left; apply Rinv_0_lt_compat; lra | lra | apply Rinv_le_contravar; lra ]. }
  assert (D : 0 <= deviation (6 / delta) n) by apply sqrt_pos.
  assert (E : 0 <= r / sqrt m) by (apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; apply sqrt_lt_R0; lra ]).
  assert (4 * paper_c theta * (r / sqrt m) <= 4 * paper_c theta * (r / sqrt n)) by (apply Rmult_le_compat_l; lra).
  assert (1 * deviation (6 / delta) n <= paper_c theta * deviation (6 / delta) n) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.

(** * Launch budgets *)

Definition threshold (gap theta r : R) : R := 16 * ((1 - theta) * r) ^ 2 / ((1 - 2 * theta) * gap) ^ 2.

Lemma tail_at_launch n gap theta r :
  0 < theta < / 2 -> 0 < gap <= 1 -> gap <= r -> threshold gap theta r < n <= threshold gap theta r + 1 ->
  1 - / 1152 <= tail n gap theta r < 1.
Proof.
  intros H Hg Hr [Lo Up]. assert (C := c_ge_1 theta H). set (y := 4 * paper_c theta * r / gap).
  assert (E : threshold gap theta r = y * y) by (unfold threshold, y, paper_c; field; lra). rewrite E in *.
  assert (Y : 4 <= y).
  { unfold y. apply Rmult_le_reg_r with gap; [ lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  assert (N : 0 < n) by nra. set (s := sqrt n). assert (Q : s * s = n) by (apply sqrt_sqrt; lra).
  assert (S : 0 < s) by (apply sqrt_lt_R0; exact N).
  assert (L : y < s) by (apply Rnot_le_lt; intro G; nra).
  assert (M : s * margin n gap theta r = gap / 2 * (s - y)).
  { rewrite margin_c by lra. fold s. unfold y. field. lra. }
  assert (D : 0 < s - y <= / 8) by (split; [ lra | nra ]).
  assert (Sq : n * margin n gap theta r ^ 2 = (gap / 2 * (s - y)) ^ 2) by (rewrite <- M, <- Q; ring).
  assert (P : 0 < gap / 2 * (s - y) <= / 16) by (split; nra).
  assert (B : 0 < (gap / 2 * (s - y)) ^ 2 <= / 256).
  { simpl. rewrite Rmult_1_r. destruct P. split; [ apply Rmult_lt_0_compat; assumption | nra ]. }
  unfold tail. replace (2 / 9 * n * margin n gap theta r ^ 2) with (2 / 9 * (n * margin n gap theta r ^ 2)) by ring.
  rewrite Sq. split.
  - apply Rle_trans with (1 + - (2 / 9 * (gap / 2 * (s - y)) ^ 2)); [ lra | apply exp_ineq1_le ].
  - rewrite <- exp_0. apply exp_increasing. lra.
Qed.

(** lemma-1-condition, empty as printed: at the smallest number of rows above the threshold the bound is at least 1. A
    feasible gap is at most 1 and at most r. *)
Theorem lemma_1_condition_empty n K gap theta r :
  0 < theta < / 2 -> 2 <= K -> 0 < gap <= 1 -> gap <= r -> threshold gap theta r < n <= threshold gap theta r + 1 ->
  1 <= fail_uniform n K gap theta r.
Proof. intros H HK Hg Hr Hn. assert (T := tail_at_launch n gap theta r H Hg Hr Hn). unfold fail_uniform. nra. Qed.

(** lemma-2-condition, empty as printed: n is the number of rows of the first round. *)
Theorem lemma_2_condition_empty n gap theta r :
  0 < theta < / 2 -> 0 < gap <= 1 -> gap <= r -> threshold gap theta r < n <= threshold gap theta r + 1 ->
  1 <= fail_median n gap theta r.
Proof.
  intros H Hg Hr Hn. assert (T := tail_at_launch n gap theta r H Hg Hr Hn). unfold fail_median.
  apply Rmult_le_reg_r with (1 - tail n gap theta r); [ lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma tail_informative n level gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap -> 1 < level ->
  4 / gap ^ 2 * (2 * paper_c theta * r + sqrt (9 / 2 * ln level)) ^ 2 < n -> tail n gap theta r < / level.
Proof.
  intros H Hr Hg Hl Hn. assert (C := c_ge_1 theta H).
  assert (Ln : 0 < ln level) by (rewrite <- ln_1; apply ln_increasing; lra).
  set (v := sqrt (9 / 2 * ln level)) in *. assert (V : v * v = 9 / 2 * ln level) by (apply sqrt_sqrt; lra).
  assert (V0 : 0 < v) by (apply sqrt_lt_R0; lra).
  set (w := 2 * paper_c theta * r + v) in *. assert (W : 0 < w) by (unfold w; nra).
  assert (Hn' : (2 * w / gap) * (2 * w / gap) < n)
    by (replace ((2 * w / gap) * (2 * w / gap)) with (4 / gap ^ 2 * w ^ 2) by (field; lra); exact Hn).
  assert (Z : 0 < 2 * w / gap) by (apply Rdiv_lt_0_compat; lra).
  assert (N : 0 < n) by nra. set (s := sqrt n). assert (Q : s * s = n) by (apply sqrt_sqrt; lra).
  assert (S : 0 < s) by (apply sqrt_lt_R0; exact N).
  assert (L : 2 * w / gap < s) by (apply Rnot_le_lt; intro G; nra).
  assert (L2 : 2 * w < s * gap).
  { replace (2 * w) with (2 * w / gap * gap) by (field; lra). apply Rmult_lt_compat_r; lra. }
  assert (M : s * margin n gap theta r = s * gap / 2 - 2 * paper_c theta * r) by (rewrite margin_c by lra; fold s; field; lra).
  assert (M' : v < s * margin n gap theta r) by (rewrite M; unfold w in L2; lra).
  assert (Sq : n * margin n gap theta r ^ 2 = (s * margin n gap theta r) * (s * margin n gap theta r)) by (rewrite <- Q; ring).
  assert (B : v * v < n * margin n gap theta r ^ 2) by (rewrite Sq; nra).
  unfold tail. replace (/ level) with (exp (- ln level)) by (rewrite exp_Ropp, exp_ln; lra).
  apply exp_increasing. lra.
Qed.

(** lemma-1-condition corrected *)
Theorem lemma_1_condition n K gap theta r :
  0 < theta < / 2 -> 2 <= K -> 0 < r -> 0 < gap ->
  4 / gap ^ 2 * (2 * paper_c theta * r + sqrt (9 / 2 * ln (4 * (K - 1)))) ^ 2 < n -> fail_uniform n K gap theta r < 1.
Proof.
  intros H HK Hr Hg Hn. assert (T := tail_informative n (4 * (K - 1)) gap theta r H Hr Hg ltac:(lra) Hn).
  unfold fail_uniform. apply Rlt_le_trans with (4 * (K - 1) * / (4 * (K - 1))).
  - apply Rmult_lt_compat_l; lra.
  - right. field. lra.
Qed.

(** lemma-2-condition corrected *)
Theorem lemma_2_condition n gap theta r :
  0 < theta < / 2 -> 0 < r -> 0 < gap ->
  4 / gap ^ 2 * (2 * paper_c theta * r + sqrt (9 / 2 * ln 9)) ^ 2 < n -> fail_median n gap theta r < 1.
Proof.
  intros H Hr Hg Hn. assert (T := tail_informative n 9 gap theta r H Hr Hg ltac:(lra) Hn).
  unfold fail_median. apply Rmult_lt_reg_r with (1 - tail n gap theta r); [ lra | ].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** * Geometric series *)

Fixpoint powers (q : R) (T : nat) : R := match T with O => 0 | S t => powers q t + q ^ S t end.
(** The sum of q^(n_t/n_1) over the rounds, for rows that double: n_t = 2^(t-1) n_1. *)
Fixpoint doubled (q : R) (T : nat) : R := match T with O => 0 | S t => doubled q t + q ^ (2 ^ t) end.

Lemma pow_decreases q a b : 0 <= q <= 1 -> (a <= b)%nat -> q ^ b <= q ^ a.
Proof.
  intros Hq L. induction L as [ | b L IH ]; [ lra | ]. simpl.
  assert (0 <= q ^ b) by (apply pow_le; lra). nra.
Qed.

(** a5-series-1 *)
Theorem a5_series_1 q T : 0 < q < 1 -> 8 * doubled q T <= 8 * powers q T.
Proof.
  intros Hq. apply Rmult_le_compat_l; [ lra | ]. induction T as [ | t IH ]; [ simpl; lra | ].
  cbn [doubled powers]. apply Rplus_le_compat; [ exact IH | ]. apply pow_decreases; [ lra | ].
  clear. induction t as [ | t IH ]; [ auto | ]. simpl. rewrite <- plus_n_O. 
  assert (1 <= 2 ^ t)%nat by (clear; induction t; simpl; [ auto | rewrite <- plus_n_O; apply (Nat.le_trans _ _ _ IHt); apply Nat.le_add_r ]).
  apply (Nat.add_le_mono 1 (2 ^ t) (S t) (2 ^ t)); assumption.
Qed.

(** a5-series-3, for partial sums. *)
Theorem a5_series_3 q T : 0 < q < 1 -> 8 * powers q T = 8 * q / (1 - q) - 8 * q ^ S T / (1 - q).
Proof.
  intros Hq. induction T as [ | t IH ]; [ simpl; field; lra | ].
  cbn [powers]. rewrite Rmult_plus_distr_l, IH. simpl. field. lra.
Qed.

(** a5-series-3: the infinite sum. *)
Theorem a5_series_limit q : 0 < q < 1 -> is_lim_seq (fun T => 8 * powers q T) (8 * q / (1 - q)).
Proof.
  intros Hq. apply is_lim_seq_ext with (u := fun T => 8 * q / (1 - q) - 8 * q / (1 - q) * q ^ T).
  - intros T. rewrite a5_series_3 by assumption. simpl. field. lra.
  - replace (8 * q / (1 - q)) with (8 * q / (1 - q) - 8 * q / (1 - q) * 0) at 1 by ring.
    replace (Finite (8 * q / (1 - q))) with (Finite (8 * q / (1 - q) - 8 * q / (1 - q) * 0)) by (f_equal; ring).
    apply is_lim_seq_ext with (u := fun T => 8 * q / (1 - q) - 8 * q / (1 - q) * q ^ T); [ intros T; ring | ].
    apply is_lim_seq_minus'; [ apply is_lim_seq_const | ].
    apply is_lim_seq_mult'; [ apply is_lim_seq_const | apply is_lim_seq_geom; rewrite Rabs_right; lra ].
Qed.

(** a5-series-2: the right side is the infinite sum of [a5_series_limit]. *)
Theorem a5_series_2 q T : 0 < q < 1 -> 8 * powers q T <= 8 * q / (1 - q).
Proof.
  intros Hq. rewrite a5_series_3 by assumption. assert (0 < q ^ S T) by (apply pow_lt; lra).
  assert (0 < 8 * q ^ S T / (1 - q)); [ apply Rdiv_lt_0_compat; lra | lra ].
Qed.

Lemma exp_power x k : exp (INR k * x) = exp x ^ k.
Proof.
  induction k as [ | k IH ]; [ simpl; rewrite Rmult_0_l; apply exp_0 | ].
  rewrite S_INR. simpl. rewrite <- IH, <- exp_plus. f_equal. ring.
Qed.

(** remark-7-failure-bounds, for K = 2^c arms: n rows of the first round of median elimination are c n rows of uniform
    allocation. *)
Theorem remark_7_failure_bounds c n gap theta r :
  (0 < c)%nat -> 0 < theta < / 2 -> 0 < r -> 0 < gap -> identified 16 n gap theta r -> fail_median n gap theta r < 1 ->
  fail_uniform (INR c * n) (2 ^ c) gap theta r < fail_median n gap theta r.
Proof.
  intros Hc H Hr Hg Hn M1.
  destruct (a6_condition n gap gap theta r H Hr Hg ltac:(lra) Hn) as [_ P].
  assert (Hn' := Hn). replace 16 with (4 * 4) in Hn' by ring.
  destruct (root_of_rows 4 n gap theta r H ltac:(lra) Hr Hg Hn') as [N _].
  assert (P0 : 0 < margin n gap theta r) by (unfold margin; lra).
  set (q := tail n gap theta r) in *.
  assert (Q0 : 0 < q) by apply exp_pos.
  assert (Q1 : q < 1).
  { unfold q, tail. rewrite <- exp_0. apply exp_increasing.
    assert (0 < 2 / 9 * n * margin n gap theta r ^ 2); [ | lra ].
    apply Rmult_lt_0_compat; [ lra | apply pow_lt; exact P0 ]. }
  assert (Q9 : 9 * q < 1).
  { unfold fail_median in M1. fold q in M1. apply Rmult_lt_compat_r with (r := 1 - q) in M1; [ | lra ].
    replace (8 * q / (1 - q) * (1 - q)) with (8 * q) in M1 by (field; lra). lra. }
  assert (C1 : 1 <= INR c) by (replace 1 with (INR 1) by reflexivity; apply le_INR; exact Hc).
  assert (T : tail (INR c * n) gap theta r <= q ^ c).
  { unfold q, tail. rewrite <- exp_power. apply exp_le_compat.
    assert (L : n <= INR c * n) by nra.
    assert (I := margin_increases n (INR c * n) gap gap theta r H Hr N L ltac:(lra)).
    assert (S : margin n gap theta r ^ 2 <= margin (INR c * n) gap theta r ^ 2) by (apply pow_incr; lra).
    assert (0 <= 2 / 9 * (INR c * n)) by nra.
    assert (2 / 9 * (INR c * n) * margin n gap theta r ^ 2 <= 2 / 9 * (INR c * n) * margin (INR c * n) gap theta r ^ 2)
      by (apply Rmult_le_compat_l; assumption).
    lra. }
  assert (D : (2 * q) ^ c <= 2 * q).
  { rewrite <- (pow_1 (2 * q)) at 2. apply pow_decreases; [ lra | exact Hc ]. }
  rewrite Rpow_mult_distr in D.
  assert (W : 1 <= 2 ^ c) by (apply pow_R1_Rle; lra).
  assert (qc : 0 < q ^ c) by (apply pow_lt; exact Q0).
  assert (U : fail_uniform (INR c * n) (2 ^ c) gap theta r <= 4 * (2 ^ c - 1) * q ^ c).
  { unfold fail_uniform. apply Rmult_le_compat_l; lra. }
  assert (E : 8 * q < fail_median n gap theta r).
  { unfold fail_median. fold q. apply Rmult_lt_reg_r with (1 - q); [ lra | ].
    replace (8 * q / (1 - q) * (1 - q)) with (8 * q) by (field; lra). nra. }
  nra.
Qed.

(** * Costs: [Int_part] is the floor. *)

Lemma floor_le x : IZR (Int_part x) <= x.
Proof. destruct (base_Int_part x). lra. Qed.

Fixpoint total (costs : list R) : R := match costs with nil => 0 | cons c rest => c + total rest end.
Fixpoint spent (rows : R -> R) (costs : list R) : R :=
  match costs with nil => 0 | cons c rest => c * rows c + spent rows rest end.

(** sample-alignment-spend *)
Theorem sample_alignment_spend costs b : 0 < total costs -> 0 <= b ->
  spent (fun _ => IZR (Int_part (b / total costs))) costs <= b.
Proof.
  intros S B. set (k := IZR (Int_part (b / total costs))).
  assert (E : forall l, spent (fun _ => k) l = k * total l) by (induction l as [ | c l IH ]; simpl; [ ring | rewrite IH; ring ]).
  rewrite E. assert (F : k <= b / total costs) by apply floor_le.
  apply Rle_trans with (b / total costs * total costs); [ apply Rmult_le_compat_r; lra | ].
  right. field. lra.
Qed.

(** budget-alignment-spend: A is the number of active features. *)
Theorem budget_alignment_spend costs b : (forall c, List.In c costs -> 0 < c) -> 0 <= b -> costs <> nil ->
  spent (fun c => IZR (Int_part (b / (INR (length costs) * c)))) costs <= b.
Proof.
  intros P B N. set (A := INR (length costs)).
  assert (HA : 0 < A) by (unfold A; apply lt_0_INR; destruct costs; [ contradiction | apply Nat.lt_0_succ ]).
  assert (E : spent (fun c => IZR (Int_part (b / (A * c)))) costs <= INR (length costs) * (b / A)).
  { clearbody A. clear N. induction costs as [ | c l IH ]; [ simpl; lra | ].
    cbn [spent length]. rewrite S_INR. assert (Hc : 0 < c) by (apply P; left; reflexivity).
    assert (F := floor_le (b / (A * c))).
    assert (c * IZR (Int_part (b / (A * c))) <= b / A).
    { apply Rle_trans with (c * (b / (A * c))); [ apply Rmult_le_compat_l; lra | right; field; lra ]. }
    assert (IH' := IH (fun d D => P d (or_intror D))). lra. }
  fold A in E. apply Rle_trans with (1 := E). right. field. lra.
Qed.

(** sample-alignment corrected: without the floor on the right side. *)
Theorem sample_alignment c S b : 0 <= c -> 0 < S -> c * IZR (Int_part (b / S)) <= c * b / S.
Proof.
  intros C H. unfold Rdiv at 2. rewrite Rmult_assoc. apply Rmult_le_compat_l; [ exact C | apply floor_le ].
Qed.

(** budget-alignment corrected: without the inner floor. *)
Theorem budget_alignment b A c : A <> 0 -> c <> 0 -> Int_part (b / A / c) = Int_part (b / (A * c)).
Proof. intros HA Hc. f_equal. field. auto. Qed.
