(** Closed instances of the theorems about numbers: theta = 1/4, kappa Lambda = 1, Delta = 1/2 and 1,000 or 2,000 rows. Every
    hypothesis is proved, so each theorem says something. tools/check_coq.py asks for an instance of every theorem that a
    claim or a page names, and for instances without hypotheses. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq fintype bigop div.
From Exml Require Import arm calibration uniform_allocation bayes registry registry_rows.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition Ht : 0 < / 4 < / 2 := ltac:(lra).
Definition Hd : 0 < / 4 < 1 := ltac:(lra).
Definition zero_one : 0 < 1 := ltac:(lra).
Definition zero_half : 0 < / 2 := ltac:(lra).
Definition two_four : 2 <= 4 := ltac:(lra).
Definition gap_range : 0 < / 2 <= 1 := ltac:(lra).
Definition half_one : / 2 <= 1 := ltac:(lra).
Definition many : 0 < 1000 := ltac:(lra).
Lemma H64 : identified 64 1000 (/ 2) (/ 4) 1. Proof. rewrite /identified; lra. Qed.
Lemma H16 : identified 16 2000 (/ 2) (/ 4) 1. Proof. rewrite /identified; lra. Qed.
Lemma at_launch : threshold (/ 2) (/ 4) 1 < 145 <= threshold (/ 2) (/ 4) 1 + 1. Proof. rewrite /threshold; lra. Qed.
Lemma below_launch level : 0 < level <= 14 -> 4 / (/ 2) ^ 2 * (2 * paper_c (/ 4) * 1 + sqrt (9 / 2 * ln level)) ^ 2 < 2000.
Proof.
move=> Hl; have L : ln level <= 14 by have := exp_ineq1_le (ln level); rewrite exp_ln; lra.
have S : sqrt (9 / 2 * ln level) <= 8 by rewrite -[X in _ <= X](sqrt_square 8); [apply: sqrt_le_1_alt; lra | lra].
have S0 := sqrt_pos (9 / 2 * ln level).
have -> : 2 * paper_c (/ 4) * 1 = 3 by rewrite /paper_c; field.
have -> : 4 / (/ 2) ^ 2 = 16 by field.
move: (sqrt _) S S0 => s S S0; nra.
Qed.

(** * Losses *)
Definition i_loss_affine := loss_affine (/ 4) (/ 2) (/ 2) (/ 2) Ht ltac:(lra) ltac:(rewrite Rabs_right; lra) ltac:(rewrite Rabs_right; lra).
Definition i_calibration := calibration (/ 4) (/ 4) 1 1 Ht ltac:(lra).
Definition i_eq_1 := eq_1 1 1 Ht.
Definition i_eq_1_rejection_rule := @eq_1_rejection_rule (/ 4) 1 1 1 ltac:(lra).
Definition i_eq_2_upper_bound := eq_2_upper_bound (/ 4) 1 1 1 Ht.
Definition i_surrogate_affine := surrogate_affine (/ 4) (/ 2) (/ 2) 1 Ht (or_introl erefl) ltac:(rewrite Rabs_right; lra) ltac:(rewrite Rabs_right; lra).
Definition i_eq_3_quadratic_program := eq_3_quadratic_program (/ 4) 1 1 1.
(** * Decompositions *)
Definition i_decomposition := decomposition 6 5 4 3 2 1.
Definition i_a4_identity := a4_identity 4 3 2 1.
Definition i_a6_split := a6_split 3 2 1.
Definition i_a6_inclusion := a6_inclusion 1 2 3 1 ltac:(lra).
(** * Margins *)
Definition i_a2_quarter := a2_quarter _ _ _ _ Ht zero_one zero_half H64.
Definition i_a3_quarter := a3_quarter 1000 2000 (/ 2) (/ 4) 1 Ht zero_one zero_half H64 ltac:(lra).
Definition i_a3_numerator := a3_numerator _ _ _ _ Ht zero_one zero_half H64.
Definition i_thm_1_delta_order := thm_1_delta_order _ 4 _ _ _ Ht two_four zero_one zero_half H64.
Definition i_a2_delta_line_1 := a2_delta_line_1 1000 4 (/ 2) (/ 4) 1 Ht many.
Definition i_a2_delta_line_3 := a2_delta_line_3 1000 (/ 2).
Definition i_a2_delta_line_4 := a2_delta_line_4 1000 4 (/ 2).
Definition i_a3_delta := a3_delta 1000 (/ 2) (/ 4) 1.
Definition i_a3_constant := a3_constant (/ 2) (/ 4) 1 Ht zero_half.
Definition i_a3_denominator_1 := a3_denominator_1 _ _ _ _ Ht zero_one zero_half H64.
Definition i_a3_denominator_2 := a3_denominator_2 _ _ _ _ Ht zero_one zero_half H64.
Definition i_a3_absolute_constant := a3_absolute_constant _ _ _ _ Ht zero_one zero_half H64.
Definition i_thm_2_delta_order := thm_2_delta_order _ _ _ _ Ht zero_one zero_half H64.
Definition i_a6_condition := a6_condition 2000 (/ 2) 1 (/ 4) 1 Ht zero_one zero_half ltac:(lra) H16.
Definition i_a6_conclusion := a6_conclusion 1000 1.
Definition i_a5_pairs_line_2 := a5_pairs_line_2 2000 3000 (/ 2) 1 (/ 4) 1 Ht zero_one zero_half ltac:(lra) ltac:(lra) H16.
Definition gaps : list R := (/ 2 :: 1 :: nil)%list.
Lemma gaps_high g : List.In g gaps -> / 2 <= g. Proof. by case=> [<-|[<-|[]]]; lra. Qed.
Definition i_a4_min_gap := a4_min_gap _ _ _ _ gaps Ht zero_one zero_half H16 gaps_high.
Definition i_thm_1_decay := thm_1_decay _ _ _ _ Ht zero_one zero_half H64.
Definition i_remark_6_sqrt_k := remark_6_sqrt_k (/ 4) 1 (/ 4) 4 1000 ltac:(lra) many.
Definition i_remark_7_sqrt_log := remark_7_sqrt_log (/ 4) 1 (/ 4) 2 1000 ltac:(lra) many.
Definition i_sl_rate := sl_rate (/ 4) 1 (/ 4) 1000 many.
Definition i_a4_sum := a4_sum (/ 4) 1 (/ 4) 1000 Ht many.
Definition i_a2_sum := a2_sum (/ 4) 1 (/ 4) 1000 2000 Ht many ltac:(lra) ltac:(lra).
Definition i_a2_order := a2_order (/ 4) 1 (/ 4) 1000 2000 Ht zero_one many ltac:(lra) Hd.
(** * Launch budgets *)
Definition i_lemma_1_condition_empty := lemma_1_condition_empty 145 4 (/ 2) (/ 4) 1 Ht two_four gap_range half_one at_launch.
Definition i_lemma_2_condition_empty := lemma_2_condition_empty 145 (/ 2) (/ 4) 1 Ht gap_range half_one at_launch.
Definition i_lemma_1_condition := lemma_1_condition _ 4 _ _ _ Ht two_four zero_one zero_half (@below_launch (4 * (4 - 1)) ltac:(lra)).
Definition i_lemma_2_condition := lemma_2_condition _ _ _ _ Ht zero_one zero_half (@below_launch 9 ltac:(lra)).
Definition i_remark_7_failure_bounds := remark_7_failure_bounds 2 2000 (/ 2) (/ 4) 1 ltac:(auto) Ht zero_one zero_half H16 i_lemma_2_condition.
(** * Series *)
Definition i_a5_series_1 := a5_series_1 (/ 4) 3 Hd.
Definition i_a5_series_2 := a5_series_2 (/ 4) 3 Hd.
Definition i_a5_series_3 := a5_series_3 (/ 4) 3 Hd.
Definition i_a5_series_limit := a5_series_limit (/ 4) Hd.
(** * Costs *)
Definition costs : list R := (1 :: 2 :: nil)%list.
Lemma costs_positive c : List.In c costs -> 0 < c. Proof. by case=> [<-|[<-|[]]]; lra. Qed.
Definition i_sample_alignment_spend := sample_alignment_spend costs 10 ltac:(rewrite /=; lra) ltac:(lra).
Definition i_budget_alignment_spend := budget_alignment_spend costs 10 costs_positive ltac:(lra) ltac:(done).
Definition i_sample_alignment := sample_alignment 1 3 10 ltac:(lra) ltac:(lra).
Definition i_budget_alignment := budget_alignment 10 2 3 ltac:(lra) ltac:(lra).
(** * Numbers of rows: a budget of 48, four arms *)
Definition divides : (2 ^ 2 * 2 %| 48)%N := isT.
Definition i_ua_allocation := ua_allocation 48 4.
Definition i_me_spend := me_spend 48 4.
Definition i_me_largest_sample := @me_largest_sample 48 4 0 isT.
Definition i_me_one_left := @me_one_left 4 isT.
Definition i_me_draw := @me_draw 48 4 100 isT.
Definition i_lemma_2_first_round := @lemma_2_first_round 48 4 isT.
Definition i_remark_7_launch_budget := @remark_7_launch_budget 4 10 isT.
Definition i_a5_doubling := @a5_doubling 48 2 isT 1 divides isT.
Definition i_a5_count_1 := @a5_count_1 48 2 isT divides.
Definition i_a5_count_2 := @a5_count_2 48 2 isT divides.
Definition i_a5_count_3 := @a5_count_3 48 2 isT.
Definition i_a5_count_4 := @a5_count_4 48 2 isT.
Definition i_me_sample_count := @me_sample_count 48 2 isT divides.
