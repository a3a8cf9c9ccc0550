(** Closed instances of the theorems about arms and models, on the pool of pool.v and samples of at least a million rows. The pool's
    theorems without a sample size are instances of the main theorems. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice path fintype finfun bigop finset div prime.
From Coquelicot Require Continuity.
From Exml Require calibration registry.
From Exml Require Import finite_probability concentration selection gram rademacher arm span bayes affine uniform_allocation.
From Exml Require Import median_elimination median_elimination_arms registry_arms registry_models printed_form gradient_descent optimism.
From Exml Require Import shared_rows pairs regret excess_risk sequential jeffreys pool witness witness_excess.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Numbers of rows; opaque, so that nobody counts to a million *)
Lemma root_of_square N n : INR n = N * N -> 1000 <= N -> 1000 <= sqrt (INR n).
Proof. by move=> -> H; rewrite sqrt_square; lra. Qed.
Lemma thousand : INR 1000 = 1000. Proof. by rewrite INR_IZR_INZ. Qed.
Lemma rows_exist : {n | 1000 <= sqrt (INR n)}.
Proof. by exists (1000 * 1000)%N; apply: (root_of_square (N := 1000)); [rewrite mult_INR thousand | lra]. Qed.
Definition n := sval rows_exist.
Definition Hn : 1000 <= sqrt (INR n) := svalP rows_exist.
Lemma training_exist : {k | 1000 <= sqrt (INR (k + k))}.
Proof.
exists (2 * (1000 * 1000))%N; apply: (root_of_square (N := 2000)); last lra.
by rewrite plus_INR !mult_INR thousand (_ : INR 2 = 2); [lra | rewrite /=; lra].
Qed.
Definition k := sval training_exist.
Definition Hk : 1000 <= sqrt (INR (k + k)) := svalP training_exist.
Definition x0 : 'I_(k + k) := Ordinal (rows_pos Hk).
Lemma budget_exists : {B | 1000 <= sqrt (INR (median_elimination_arms.n (ordinal_finType 4) B 0))}.
Proof.
exists (n * (median_elimination_arms.T (ordinal_finType 4) * alive_count (ordinal_finType 4) 0))%N; rewrite /median_elimination_arms.n mulnK; first exact: Hn.
by rewrite pool_rounds /alive_count /= card_ord.
Qed.
Definition B := sval budget_exists.
Definition HB := svalP budget_exists.
Definition n0 : (0 < n)%N := rows_pos Hn.
Lemma H1 : 1 <= 1 <= 5. Proof. lra. Qed.
Lemma H5 : 1 <= 5 <= 5. Proof. lra. Qed.
Lemma five_pos : 0 < 5. Proof. lra. Qed.
Lemma one_ge0 : 0 <= 1. Proof. lra. Qed.
Lemma Hd : 0 < / 4 < 1. Proof. lra. Qed.
Lemma small_ball : 1 * 1 <= 2 - 2 * theta. Proof. rewrite /theta; lra. Qed.
Lemma eighth_pos : 0 < / 8. Proof. lra. Qed.
Lemma hundredth : 0 < / 100. Proof. lra. Qed.
Notation sample := (single n).
Notation arm_1 := (pool best).

(** * The main theorems *)
Definition i_lemma_4 := pool_lemma_4 H1 Hn rival_ne.
Definition i_lemma_1_i := pool_lemma_1_i H1 Hn.
Definition i_regret := pool_regret H1 Hn hundredth Hd.
Definition i_lemma_2_i := pool_lemma_2_i H1 HB.
Definition i_lemma_2_sum := pool_lemma_2_sum H1 HB.
Definition i_lemma_2_i_fresh := pool_lemma_2_i_fresh H1 HB.
Definition i_lemma_2_ii := pool_lemma_2_ii H1 hundredth Hd HB.
Definition i_theorem_1_paper := pool_theorem_1_paper x0 Hk Hn.
Definition i_theorem_2_paper := pool_theorem_2_paper x0 Hk HB.
Definition i_theorem_1_empty := @theorem_1_empty theta 1 1 Htheta one_pos one_pos _ _ coin gram_of_pool label_of pool_psd label_of_sq pool_diag
  _ x0 best predT _ (/ 4) (Rlt_le _ _ hundredth) _ _ _ pool_feature n (mixed k) (or_intror small_ball).
Definition i_theorem_2_empty := @theorem_2_empty theta 1 1 Htheta one_pos one_pos _ _ coin gram_of_pool label_of pool_psd label_of_sq pool_diag
  _ x0 best predT _ (/ 4) (Rlt_le _ _ hundredth) _ _ _ pool_feature B (mixed k) (or_intror small_ball).
Definition i_lemma_3 := @lemma_3 theta 1 1 Htheta one_pos one_pos arm_1 n n0 (fun _ => zero one_pos arm_1) (/ 4) Hd.
Theorem i_eq_6 : exists learned : {ffun 'I_n -> bool} -> ball (gram_of arm_1) 5,
  pr (draws coin n) (fun s => geb (ex coin (error theta (a := arm_1) (learned s)) - bayes_risk coin id label_of theta)
    (bound_3 theta 5 1 n (2 / (/ 4)) + dev theta 5 1 n (2 / (/ 4)) + / 100 + approximation_error coin id label_of theta delta_kernel 5)) <= / 4.
Proof.
have [learned Hl] := learned_exists Htheta five_pos one_pos arm_1 n hundredth; exists learned.
exact: (@eq_6 theta 5 1 Htheta five_pos one_pos _ _ coin id delta_kernel label_of (pool_psd best) label_of_sq (pool_diag best) n learned _ _ n0 Hd Hl).
Qed.

(** * Printed constants: M <= 3 for kappa Lambda = 1 *)
Lemma M_3 : arm.M theta 1 1 <= 3.
Proof.
have : 0 <= loss_low theta (1 * 1) by exact: Rmax_r.
by rewrite /arm.M /arm.r /loss_high /theta (Rmax_left (1 + _)); lra.
Qed.
Lemma launched_gap i : i != best -> let gap := Rarm theta 1 (pool i) - Rarm theta 1 arm_1 in
  0 < gap /\ 16 * (paper_c theta * paper_c theta) * (arm.r 1 1 * arm.r 1 1) / (gap * gap) < INR n.
Proof.
move=> ne gap; have g : / 8 <= gap by exact: (pool_gap H1 ne).
have L := pool_launched H1 Hn; split; first lra; apply: Rle_lt_trans L; apply: Rmult_le_compat_l.
  by have := Rle_0_sqr (paper_c theta); have := Rle_0_sqr (arm.r 1 1); rewrite /Rsqr => ? ?; apply: Rmult_le_pos => //; lra.
by apply: Rinv_le_contravar; [lra | apply: Rmult_le_compat; lra].
Qed.
Definition gap_pos := proj1 (launched_gap rival_ne).
Definition gap_launched := proj2 (launched_gap rival_ne).
Definition i_lemma_4_printed := @lemma_4_printed theta 1 1 Htheta one_pos one_pos arm_1 (pool rival) n _ (draws coin n) id id
  n0 (fun f => erefl) (fun f => erefl) gap_pos gap_launched M_3.
Lemma rival_gap i : ~~ geb (Rarm theta 1 arm_1) (Rarm theta 1 (pool i)) -> / 8 <= Rarm theta 1 (pool i) - Rarm theta 1 arm_1.
Proof. by move=> r; apply: (pool_gaps H1); rewrite inE. Qed.
Definition i_lemma_1_i_printed := @lemma_1_i_printed theta 1 1 Htheta one_pos one_pos _ pool best n _ (draws coin n) (shared (n := n))
  (chosen 1 (n := n)) (/ 8) n0 (fun i f => erefl) (chosen_smallest 1 (n := n)) rival_gap eighth_pos (pool_launched H1 Hn) M_3.
Lemma tail_below : registry.tail (INR (median_elimination_arms.n (ordinal_finType 4) B 0)) (/ 8) theta (arm.r 1 1) < 1.
Proof.
have [i0 i1] := root_inverse HB; have m := million HB; apply: (Rlt_le_trans _ (exp 0)); last by rewrite exp_0; lra.
apply: exp_increasing.
have x : 0 < registry.margin (INR (median_elimination_arms.n (ordinal_finType 4) B 0)) (/ 8) theta (arm.r 1 1).
  rewrite /registry.margin /arm.r /theta; set s := sqrt _ in i0 i1 *.
  by rewrite (_ : _ * (_ / s) = 3 * / s); [lra | field; move=> e; rewrite e Rinv_0 in i0; lra].
move: (INR _) m (pow_lt _ 2 x) => N m; move: (registry.margin _ _ _ _ ^ 2) => y y0; nra.
Qed.
Definition i_printed_quotient := @printed_quotient theta 1 1 Htheta one_pos one_pos (ordinal_finType 4) (/ 8) B eighth_pos
  (pool_launched H1 HB) M_3 tail_below.

(** * Steps of the appendix *)
Definition i_rad_loss := @rad_loss _ (gram_of_pool best) label_of theta 1 1 (pool_psd best) label_of_sq (pool_diag best) Htheta one_ge0 one_ge0 n sample.
Definition i_a2_step_4 := @a2_step_4 theta 1 1 Htheta one_pos one_pos arm_1 n sample n0.
Definition i_a2_step_4_corrected := @a2_step_4_corrected theta 1 1 Htheta one_pos one_pos arm_1 n sample n0.
Definition i_a6_rademacher := @a6_rademacher theta 1 1 Htheta one_pos one_pos arm_1 n sample n0.
Definition i_a4_lemma_4 := @a4_lemma_4 theta 1 1 Htheta one_pos one_pos _ pool best n _ (draws coin n) (shared (n := n)) (fun i => i != best)
  n0 (fun i f => erefl) launched_gap.
Definition i_a4_term_a := @a4_term_a theta 1 1 Htheta one_pos one_pos arm_1 n n0 (fun _ => zero one_pos arm_1) (/ 4) Hd.
Definition i_a4_term_c := @a4_term_c theta 1 1 Htheta one_pos one_pos arm_1 n n0 (zero one_pos arm_1) (/ 4) Hd.
Definition i_a6_generalisation := @a6_generalisation theta 1 1 Htheta one_pos one_pos arm_1 n n0 (/ 4) Hd.
Definition i_a6_drop := @a6_drop theta 1 1 Htheta one_pos one_pos arm_1 n sample (zero one_pos arm_1).
Definition i_a6_term_a := @a6_term_a theta 1 1 Htheta one_pos one_pos arm_1 n n0 (/ 8) eighth_pos (pool_launched H1 Hn).
Definition i_a6_term_b := @a6_term_b theta 1 1 Htheta one_pos one_pos arm_1 n n0 (/ 8) eighth_pos.
Definition i_least_risk := @least_risk theta 1 1 Htheta one_pos one_pos arm_1 (zero one_pos arm_1).
Definition i_eq_7 := @eq_7 theta 1 1 Htheta one_pos one_pos arm_1 (pool rival) 0 (fun f x => Rmax_r _ 0).
(** A model that attains the score 0 on every sample. *)
Definition perfect : ball (gram_of arm_1) 5 := @informed_model 5 H5 3 1 ltac:(lra) ltac:(lra).
Lemma perfect_attains (s : {ffun 'I_n -> bool}) : emp (@surr theta 5 1 arm_1) s perfect = Varm theta 5 (a := arm_1) s.
Proof.
have E x : @surr theta 5 1 arm_1 perfect x = 0.
  by rewrite informed_loss; have := loss_none; have : 0 <= loss theta 3 1 by [exact: Rmax_r]; lra.
have -> : emp (@surr theta 5 1 arm_1) s perfect = 0 by rewrite /emp; set S := \big[_/_]_i _; rewrite (_ : S = 0); [ring | apply: rsum_eq0 => j; exact: E].
apply: Rle_antisym; last by apply: Rle_trans loss_none; apply: (informed_score H5) => //; [exact: n0 | lra | lra].
apply: (inf_ge perfect) => f; apply: Rmult_le_pos; first by apply: Rlt_le; apply: Rinv_0_lt_compat; exact: INR_pos n0.
by apply: rsum_ge0 => j _; exact: Rmax_r.
Qed.
Definition i_a6_tail := @a6_tail theta 5 1 Htheta five_pos one_pos arm_1 n n0 (/ 8) eighth_pos (pool_launched H5 Hn) (fun _ => perfect) perfect_attains.
Definition i_a4_term_b := @a4_term_b theta 5 1 Htheta five_pos one_pos arm_1 n sample perfect (zero five_pos arm_1) (perfect_attains sample).
Definition head (z : bool) := z.
Definition i_a4_union := a4_union coin true (fun i w => ind (i == w)).
Definition i_a6_union := a6_union coin head negb.
Definition i_a4_conclusion := @a4_conclusion _ coin head negb 1 1 (pr_le1 _ _) (pr_le1 _ _).
Definition i_a4_conditioning := @a4_conditioning _ coin head negb 1 (pr_le1 _ _).
Lemma ind_ge0 b : 0 <= ind b. Proof. by case: b => /=; lra. Qed.
Lemma tails_below i : ind false <= ind i. Proof. by case: i => /=; lra. Qed.
Definition i_a4_step_1 := @a4_step_1 _ true false ind tails_below isT.
Lemma four_drop : best \notin better_half best (fun _ => 0) [set: 'I_4].
Proof. by apply: better_half_rival => [|i]; [rewrite cardsT card_ord | lra]. Qed.
Definition i_a5_half := @a5_half _ (better_half best) (fun _ => 0) [set: 'I_4] best (@better_half_sub _ best) (@better_half_card _ best)
  (@better_half_small _ best) (in_setT best) four_drop.
Definition i_a5_markov := @a5_markov _ coin ind 1 one_pos ind_ge0.
Definition i_a5_sum := @a5_sum _ coin (fun t w => (t == 0)%N || w) 2 (fun _ => isT).
Definition i_a6_gap := @a6_gap _ ind false 0 true tails_below ind_ge0 (ex_intro _ false erefl).
Definition i_a5_expectation := a5_expectation coin (fun w i => ind (w == i)) true [set: bool].
Definition i_a5_expectation_accumulated := @a5_expectation_accumulated _ _ coin (fun w i => ind (w == i)) true (fun _ => [set: bool]) 1 isT.
Definition i_a5_expectation_bound := @a5_expectation_bound _ [set: bool] (fun _ => 1) 1 ltac:(move=> ? ?; lra).
Definition i_eq_7_optimality_gap := eq_7_optimality_gap ind.

(** * Models *)
Definition i_eq_3 := @eq_3 _ (gram_of_pool best) label_of coin theta 1 1 (pool_psd best) label_of_sq (pool_diag best) Htheta one_ge0 one_pos
  ltac:(rewrite /theta; lra) (fun _ => 0) (fun _ => 0).
Definition i_eq_3_representer := @eq_3_representer _ _ (gram_of_pool best) id (fun u v => u true + v false) 1 1 label_of label_of (pool_psd best)
  (fun u v u' v' eu ev => f_equal2 Rplus (eu true) (ev false)) one_ge0 one_ge0.
Definition i_hypothesis_ball := @hypothesis_ball _ (gram_of_pool best) 1 1 (pool_psd best) one_ge0 one_ge0 (pool_diag best)
  (ex_intro _ true (esym (Rmult_1_l 1))).
Definition i_ball_of_span := @ball_of_span _ (gram_of_pool best) _ id (pool_psd best) 1 one_ge0 (fun u v => Rmax 0 (u true + v false)) 0
  (fun u v u' v' eu ev => f_equal (Rmax 0) (f_equal2 Rplus (eu true) (ev false))) (fun u v => Rmax_l 0 _).
(** * The Bayes risk of the label and of a constant feature *)
Definition nothing (_ : bool) := tt.
Definition i_bayes_value := bayes_value coin nothing label_of_sq Htheta.
Definition i_surrogate_value := surrogate_value coin nothing label_of_sq Htheta.
Lemma determined (z z' : bool) : id z = id z' -> label_of z = label_of z'. Proof. by move=> /= ->. Qed.
Definition i_eq_4_determined := eq_4_determined coin label_of_sq Htheta determined.
Lemma prior v : mass_pos coin nothing label_of v = / 2 * (mass_pos coin nothing label_of v + mass_neg coin nothing label_of v).
Proof. by case: v; rewrite /mass_pos /mass_neg /coin !ex_sgn /label_of /=; lra. Qed.
Definition i_eq_4_independent := eq_4_independent label_of_sq Htheta prior.
Definition i_r_ap := r_ap coin id label_of_sq Htheta delta_kernel one_ge0.
Definition Kp : psd (feature_gram id delta_kernel) := pool_psd best.
Definition Kd : forall z, feature_gram id delta_kernel z z <= 1 * 1 := pool_diag best.
Definition i_r_ap_trivial := @r_ap_trivial _ _ coin id label_of theta label_of_sq Htheta delta_kernel 1 1 Kp Kd one_ge0 one_ge0
  (or_intror small_ball).
Lemma perfect_risk : ex coin (arm.L label_of theta perfect) = (3 - 2 * theta) * bayes_risk coin id label_of theta.
Proof.
rewrite -[bayes_risk _ _ _ _]/bayes bayes_none Rmult_0_r -(ex_const coin 0); apply: ex_ext => z.
rewrite -[arm.L _ _ _ _]/(@surr theta 5 1 arm_1 perfect z) informed_loss; have := loss_none; have : 0 <= loss theta 3 1 by [exact: Rmax_r]; lra.
Qed.
Definition i_r_ap_classical := @r_ap_classical _ _ coin id label_of theta label_of_sq Htheta delta_kernel 5 1 Kp Kd (Rlt_le _ _ five_pos) one_ge0
  (ex_intro _ perfect perfect_risk).

(** * Concentration *)
Lemma label_range z : -1 <= label_of z <= 1. Proof. by case: z; rewrite /label_of /=; lra. Qed.
Lemma label_mean : ex coin label_of = 0. Proof. by rewrite /coin ex_sgn /label_of /=; lra. Qed.
Definition i_hoeffding_lemma := @hoeffding_lemma _ coin label_of (-1) 1 1 label_range label_mean.
Lemma steps_pos : 0 < \rsum_(i : 'I_n) (arm.M theta 1 1 / INR n * (arm.M theta 1 1 / INR n)).
Proof.
have M0 := uniform_allocation.M_pos Htheta one_pos one_pos; have N := INR_pos n0; rewrite rsum_const card_ord.
by have := Rdiv_lt_0_compat _ _ M0 N => ?; apply: Rmult_lt_0_compat => //; exact: Rmult_lt_0_compat.
Qed.
Definition i_mcdiarmid := @mcdiarmid _ coin n (@Varm theta 1 1 arm_1 n) _ 1 (@arm_diff theta 1 1 Htheta one_pos one_pos arm_1 n n0) one_ge0 steps_pos.
(** * Theorems 1 to 3 of docs/theorems.md *)
Lemma cd_1 s : 0 <= s <= 1 -> sqrt s / 2 + sqrt (s / 4 + (1 - s) * (b theta * b theta)) <= 1.
Proof. by apply: cd_small; rewrite /b /theta; lra. Qed.
Definition i_optimism := @optimism.theorem_1 _ (gram_of_pool best) label_of theta 1 1 (pool_psd best) label_of_sq (pool_diag best) Htheta one_ge0 one_ge0
  coin n n0 1 cd_1.
Definition i_lemma_B := @lemma_B _ (gram_of_pool best) label_of theta 1 1 (pool_psd best) label_of_sq (pool_diag best)
  (fun x x' => ind_ge0 (x == x')) Htheta one_ge0 one_ge0 (zero one_pos arm_1) true false.
Notation M_1 := (arm.M theta 1 1).
Definition M_pos : 0 < M_1 := uniform_allocation.M_pos Htheta one_pos one_pos.
Definition diff i := @surr_diff theta 1 1 Htheta one_pos (pool i).
(** Two arms that see the same row. *)
Definition diagonal_mass (z : bool * bool) : R := if z.1 == z.2 then / 2 else 0.
Lemma diagonal_ge0 z : 0 <= diagonal_mass z. Proof. by rewrite /diagonal_mass; case: ifP; lra. Qed.
Lemma diagonal_sum : \rsum_z diagonal_mass z = 1.
Proof. by rewrite -(pair_bigA _ (fun a c => diagonal_mass (a, c))) /= !big_bool /diagonal_mass /=; lra. Qed.
Definition diagonal := FDist diagonal_ge0 diagonal_sum.
Lemma diagonal_marginals g : ex diagonal (fun z => g z.1) = ex coin g /\ ex diagonal (fun z => g z.2) = ex coin g.
Proof.
rewrite /coin ex_sgn /ex -!(pair_bigA _ (fun a c => diagonal (a, c) * g a)) -!(pair_bigA _ (fun a c => diagonal (a, c) * g c)) /=.
by rewrite !big_bool /= /diagonal_mass /=; split; lra.
Qed.
Definition i_theorem_2_pairs := @theorem_2_pairs theta 1 1 Htheta one_pos one_pos arm_1 (pool rival) n M_1 n0 M_pos (diff (i := best)) (diff (i := rival))
  diagonal (fun g => proj1 (diagonal_marginals g)) (fun g => proj2 (diagonal_marginals g)).
Definition i_theorem_2_independent := @theorem_2_independent theta 1 1 Htheta one_pos one_pos arm_1 (pool rival) n M_1 n0 M_pos
  (diff (i := best)) (diff (i := rival)).
Definition i_theorem_2_arbitrary := @theorem_2_arbitrary theta 1 1 Htheta one_pos one_pos arm_1 (pool rival) n M_1 n0 M_pos
  (diff (i := best)) (diff (i := rival)) _ (draws coin n) id id (fun f => erefl) (fun f => erefl).
(** Two shared rows, one with each label. *)
Definition row (j : 'I_2) : bool := j == ord0.
Definition row_gram i := rows_gram (gram_of_pool i) row.
Definition row_psd i : psd (row_gram i) := rows_psd row (pool_psd i).
Definition row_label j := label_of (row j).
Definition row_label_sq j : row_label j * row_label j = 1 := label_of_sq (row j).
Definition row_diag i j : row_gram i j j <= 1 * 1 := pool_diag i (row j).
Definition row_choice (s : {ffun 'I_n -> 'I_2}) : 'I_4 := smallest best (fun i => affine.V row_gram row_label theta 1 i s).
Definition row_choice_smallest s i : affine.V row_gram row_label theta 1 (row_choice s) s <= affine.V row_gram row_label theta 1 i s :=
  smallestP best (fun i => affine.V row_gram row_label theta 1 i s) i.
Definition i_theorem_2 := @shared_rows.theorem_2 2 n ord0 _ best row_gram row_label theta 1 1 row_psd row_label_sq row_diag Htheta one_pos one_pos n0 rival.
Definition i_theorem_3_a := theorem_3_a ord0 best row_psd row_label_sq row_diag Htheta one_pos one_pos n0 row_choice_smallest.
Definition i_theorem_3_b := theorem_3_b ord0 best row_psd row_label_sq row_diag Htheta one_pos one_pos n0 row_choice_smallest (Rlt_le _ _ hundredth).
Lemma four_arms : (1 < #|'I_4|)%N. Proof. by rewrite card_ord. Qed.
Definition i_theorem_6_iv := theorem_6_iv ord0 best row_psd row_label_sq row_diag Htheta one_pos one_pos n0 row_choice_smallest
  four_arms Hd.

(** * Evidence by betting: coins that fail with probability 1/2 *)
Lemma fair_mean (past : seq bool) : pr (T := bool_finType) coin id = / 2. Proof. by rewrite /pr /coin ex_sgn /=; lra. Qed.
Lemma half_range : 0 < / 2 < 1. Proof. lra. Qed.
Lemma fair_fails (past : seq bool) : / 2 <= pr (T := bool_finType) coin id. Proof. by rewrite (fair_mean past); lra. Qed.
Definition quarter (_ : unit) : R := / 4.
Lemma quarter_range j : 0 <= quarter j <= 1. Proof. rewrite /quarter; lra. Qed.
Lemma quarter_open j : 0 < quarter j < 1. Proof. rewrite /quarter; lra. Qed.
Lemma quarter_below j : quarter j <= / 2. Proof. rewrite /quarter; lra. Qed.
Definition point := unif tt.
Definition i_mean_evidence := @mean_evidence _ (fun _ => coin) id jeffreys jeffreys_ge0 jeffreys_split (/ 2) half_range fair_mean.
Definition i_ville := @ville _ (fun _ => coin) _ 20 100 [::] i_mean_evidence ltac:(lra).
Definition i_certificate := @certificate _ (fun _ => coin) id _ (finite_moment_ge0 point quarter_range) (finite_moment_split point quarter)
  (finite_moment_start point quarter) (/ 2) (/ 4) 100 half_range (proj1 Hd) (finite_moment_below point quarter_range quarter_below) fair_fails.
Lemma ind_mean (past : seq bool) : ex (T := bool_finType) coin ind = / 2. Proof. exact: (fair_mean past). Qed.
Lemma ind_range b : 0 <= ind b <= 1. Proof. by case: b => /=; lra. Qed.
Definition i_pull_certificate := @pull_certificate _ (fun _ => coin) ind _ point quarter (/ 2) ind_range quarter_open half_range ind_mean (/ 4) 100 (proj1 Hd).
Definition i_jeffreys_certificate := @jeffreys_certificate (/ 2) half_range _ (fun _ => coin) id (/ 4) 100 (proj1 Hd) fair_fails.
Lemma angles : 0 < / 4 <= / 2 /\ / 2 < PI / 2. Proof. by have := PI2_1; lra. Qed.
Definition i_substitution := @substitution (fun q => q) (/ 4) (/ 2) (proj1 angles) (proj2 angles) (fun q => Continuity.continuous_id q).
Definition i_markov := @markov _ coin ind 1 id one_pos ind_ge0 (fun b (e : b) => Req_le _ _ (esym (congr1 ind e))).
Definition i_loss_range := @loss_range theta 1 1 1 Htheta ltac:(rewrite Rabs_right; lra) ltac:(rewrite Rabs_right; lra).
