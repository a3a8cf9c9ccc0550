(** The hypotheses of the theorems can be met: a rule that selects a smallest score, a rule that keeps the better half, learned
    models, and a pool of two arms on which the theorems hold without any hypothesis left. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice path fintype finfun bigop finset div prime.
From Exml Require registry.
From Exml Require Import affine shared_rows pairs registry_models.
From Exml Require Import finite_probability concentration selection gram rademacher arm span bayes uniform_allocation.
From Exml Require Import median_elimination median_elimination_arms registry_arms printed_form prefixes regret excess_risk sequential.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Rules *)
Section Rules.
Variable I : finType.
Definition smallest (i0 : I) (v : I -> R) : I := odflt i0 [pick i | [forall j, geb (v j) (v i)]].
Lemma smallest_exists (i0 : I) (v : I -> R) : exists i, forall j, v i <= v j.
Proof.
have : forall s : seq I, s != [::] -> exists i, forall j, j \in s -> v i <= v j.
  elim=> [//|y [|z s] IH] _; first by exists y => x; rewrite inE => /eqP ->; lra.
  have [//|i Hi] := IH; case: (Rle_dec (v i) (v y)) => [le|gt].
    by exists i => x; rewrite inE => /orP [/eqP ->|/Hi].
  by exists y => x; rewrite inE => /orP [/eqP ->|/Hi]; lra.
move=> /(_ (enum I)) []; first by apply/eqP => e; have := mem_enum I i0; rewrite e.
by move=> i Hi; exists i => j; apply: Hi; rewrite mem_enum.
Qed.
Lemma smallestP i0 v j : v (smallest i0 v) <= v j.
Proof.
rewrite /smallest; case: pickP => [i /forallP /(_ j) /gebP|none] //=.
have [i Hi] := smallest_exists i0 v; have := none i.
by move=> /negbT /forallP []; move=> k; apply/gebP.
Qed.

(** Keep the better half, rounded up. *)
Definition before (v : I -> R) : rel I := fun i j => geb (v j) (v i).
Definition ranked v (A : {set I}) : seq I := sort (before v) (enum A).
Definition better_half v (A : {set I}) : {set I} := [set i in take (uphalf #|A|) (ranked v A)].
Lemma before_total v : total (before v).
Proof. by move=> i j; apply/orP; case: (Rle_dec (v i) (v j)) => ?; [left | right]; apply/gebP; lra. Qed.
Lemma before_trans v : transitive (before v).
Proof. by move=> j i k /gebP ij /gebP jk; apply/gebP; lra. Qed.
Lemma better_half_sub v A : better_half v A \subset A.
Proof. by apply/subsetP => i; rewrite inE => /mem_take; rewrite mem_sort mem_enum. Qed.
Lemma better_half_card v A : #|better_half v A| = uphalf #|A|.
Proof.
have uni : uniq (take (uphalf #|A|) (ranked v A)) by apply: take_uniq; rewrite sort_uniq enum_uniq.
rewrite cardsE (card_uniqP uni).
have le : (uphalf #|A| <= size (ranked v A))%N by rewrite size_sort -cardE leq_uphalf_double -addnn leq_addr.
by rewrite size_takel.
Qed.
Lemma better_half_small v A i j : i \in better_half v A -> j \in A -> j \notin better_half v A -> v i <= v j.
Proof.
rewrite !inE => iT jA jT; have := sort_sorted (@before_total v) (enum A).
rewrite -/(ranked v A) (sorted_pairwise (@before_trans v)) -(cat_take_drop (uphalf #|A|) (ranked v A)) pairwise_cat.
case/and3P => /allrelP H _ _; apply/gebP; apply: H => //.
have : j \in ranked v A by rewrite mem_sort mem_enum.
by rewrite -{1}(cat_take_drop (uphalf #|A|) (ranked v A)) mem_cat (negbTE jT).
Qed.
End Rules.

(** Choice of dependent values over a finite type. *)
Lemma finite_choice_dep (T : finType) (W : T -> Type) (w0 : forall x, W x) (P : forall x, W x -> Prop) :
  (forall x, exists w, P x w) -> exists F : forall x, W x, forall x, P x (F x).
Proof.
move=> H; suff : forall l : seq T, exists F : forall x, W x, forall x, x \in l -> P x (F x).
  by move=> /(_ (enum T)) [F HF]; exists F => x; apply: HF; rewrite mem_enum.
elim=> [|y l [F HF]]; first by exists w0.
have [w Pw] := H y.
exists (fun x => match @eqP _ y x with ReflectT e => eq_rect y W w x e | ReflectF _ => F x end) => x.
case: eqP => [e _|ne]; first by case: x / e.
by rewrite inE => /orP [/eqP e|/HF] //; case: ne.
Qed.

(** * A pool of two arms: the first knows the label, the second nothing. theta = 1/4, kappa = 1, Lambda = 1/2. *)
Definition theta := / 4.
Definition Lam := / 2.
Lemma Htheta : 0 < theta < / 2. Proof. rewrite /theta; lra. Qed.
Lemma Lam_pos : 0 < Lam. Proof. rewrite /Lam; lra. Qed.
Lemma one_pos : 0 < 1. Proof. lra. Qed.
Notation arm := (uniform_allocation.arm 1).
Lemma risk_informed (a : arm) : (forall x x', gram_of a x x' = label a x * label a x') -> Rarm theta Lam a <= 3 / 4.
Proof.
move=> E; case: (pickP (fun _ : rows a => true)) => [x0 _|none]; last first.
  have : \rsum_x distribution a x = 0 by apply: big1 => x; have := none x.
  by rewrite pmf_sum => /R1_neq_R0.
pose w z := Lam * label a x0 * feat x0 z.
have Hw : nrm (gram_of a) w <= Lam.
  rewrite (nrm_scal (gram_psd a)) /nrm dot_feat E label_sq sqrt_1 Rmult_1_r Rabs_mult (Rabs_right Lam) ?/Lam; last lra.
  rewrite (_ : Rabs (label a x0) = 1); first lra.
  by have := label_sq a x0; rewrite /Rabs; case: Rcase_abs => ? ?; nra.
have H0 : nrm (gram_of a) (fun _ => 0) <= Lam by rewrite /nrm dot0 sqrt_0 /Lam; lra.
apply: Rle_trans (least_risk Htheta Lam_pos one_pos (exist _ (w, fun _ => 0) (conj Hw H0))) _.
rewrite -[X in _ <= X](ex_const (distribution a)); apply: ex_le => x.
rewrite /surr /arm.L /h /g /= dot0 /w dot_scal dot_feat E.
have -> : label a x * (Lam * label a x0 * (label a x0 * label a x)) = Lam.
  have -> : label a x * (Lam * label a x0 * (label a x0 * label a x)) = Lam * (label a x0 * label a x0) * (label a x * label a x) by ring.
  by rewrite !label_sq; ring.
by rewrite /loss /theta /Lam; apply: Rmax_lub; [apply: Rmax_lub|]; lra.
Qed.
Lemma risk_blind (a : arm) : (forall x x', gram_of a x x' = 0) -> Rarm theta Lam a = 1.
Proof.
move=> E; have D0 (u v : rows a -> R) : dot (gram_of a) u v = 0.
  by apply: rsum_eq0 => x; apply: rsum_eq0 => x'; rewrite E; ring.
have one f : ex (distribution a) (@surr theta Lam 1 a f) = 1.
  rewrite -[RHS](ex_const (distribution a)); apply: ex_ext => x.
  rewrite /surr /arm.L /h /g !D0 /loss /theta Rmult_0_r.
  by rewrite (Rmax_left (1 + _)) ?Rmax_left; lra.
apply: (affine.inf_unique (w := zero Lam_pos a)) => [f|]; rewrite one; lra.
Qed.

Definition label_of (z : bool) : R := sg z.
Definition gram_of_pool (i z z' : bool) : R := if i then label_of z * label_of z' else 0.
Lemma label_of_sq z : label_of z * label_of z = 1. Proof. exact: sg_sq. Qed.
Lemma pool_psd i : psd (T := bool_finType) (gram_of_pool i).
Proof.
split=> [z z'|u]; first by rewrite /gram_of_pool; case: i => //; ring.
rewrite /dot /gram_of_pool; case: i.
  have -> : \rsum_(x : bool) \rsum_(y : bool) (u x * u y * (label_of x * label_of y)) = (\rsum_(x : bool) (u x * label_of x)) * (\rsum_(x : bool) (u x * label_of x)).
    by rewrite rsum_mulr; apply: eq_bigr => x _; rewrite rsum_mull; apply: eq_bigr => y _; ring.
  exact: Rle_0_sqr.
by apply: Req_le; symmetry; apply: rsum_eq0 => x; apply: rsum_eq0 => y; ring.
Qed.
Lemma pool_diag i z : gram_of_pool i z z <= 1 * 1.
Proof. by rewrite /gram_of_pool; case: i; rewrite ?label_of_sq; lra. Qed.
Definition coin : fdist bool_finType := unif true.
Definition pool (i : bool) : arm := whole coin pool_psd label_of_sq pool_diag i.

Lemma pool_gap : / 4 <= Rarm theta Lam (pool false) - Rarm theta Lam (pool true).
Proof.
have := @risk_informed (pool true) (fun _ _ => erefl); have := @risk_blind (pool false) (fun _ _ => erefl); lra.
Qed.
Lemma launched_200 n : (200 <= n)%N -> launched theta Lam 1 (/ 4) n.
Proof.
move=> le; have : INR 200 <= INR n by exact: INR_le.
rewrite INR_IZR_INZ /launched /paper_c /arm.r /theta /Lam.
rewrite (_ : 16 * _ * _ / _ = 144); last by field.
by rewrite [Z.of_nat 200]/=; lra.
Qed.
Lemma rival_pool i : i \notin median_elimination_arms.S theta Lam pool true -> i = false.
Proof. by case: i => //; rewrite inE => /negP []; apply/gebP; lra. Qed.
Lemma pool_minimal i : Rarm theta Lam (pool true) <= Rarm theta Lam (pool i).
Proof. by case: i; [lra | have := pool_gap; lra]. Qed.
Lemma pool_gaps i : i \notin median_elimination_arms.S theta Lam pool true -> / 4 <= Rarm theta Lam (pool i) - Rarm theta Lam (pool true).
Proof. by move=> /rival_pool ->; exact: pool_gap. Qed.

Lemma pool_S : #|median_elimination_arms.S theta Lam pool true| = 1%N.
Proof.
apply/eqP/cards1P; exists true; apply/setP => i; rewrite in_set1 inE; case: i.
  by rewrite eqxx; apply/gebP; lra.
by rewrite [RHS]/=; apply/negbTE/negP => /gebP; have := pool_gap; lra.
Qed.

(** ** Uniform allocation on n shared rows *)
Section UniformPool.
Variable n : nat.
Hypothesis n200 : (200 <= n)%N.
Let n0 : (0 < n)%N. Proof. exact: leq_trans n200. Qed.
Notation sample := {ffun 'I_n -> bool}.
Definition shared (i : bool) (s : sample) : {ffun 'I_n -> rows (pool i)} := s.
Definition chosen (s : sample) : bool := smallest true (fun i => Varm theta Lam (shared i s)).
Lemma chosen_smallest s i : Varm theta Lam (shared (chosen s) s) <= Varm theta Lam (shared i s).
Proof. exact: (smallestP true (fun i => Varm theta Lam (shared i s))). Qed.
Theorem pool_lemma_4 :
  pr (draws coin n) (fun s => geb (Varm theta Lam (shared true s)) (Varm theta Lam (shared false s))) <= 2 * q4 theta Lam 1 (/ 4) n.
Proof.
apply: (lemma_4_gap Htheta Lam_pos one_pos n0) => //; first by split; [lra | exact: pool_gap].
exact: launched_200.
Qed.
Theorem pool_lemma_1_i : pr (draws coin n) (fun s => chosen s \notin S theta Lam pool true) <= 2 * q4 theta Lam 1 (/ 4) n.
Proof.
apply: Rle_trans pool_lemma_4; apply: pr_sub => s /rival_pool e; apply/gebP.
by have := chosen_smallest s true; rewrite e.
Qed.
Theorem pool_regret eps delta : 0 < eps -> 0 < delta < 1 ->
  exists learned : forall i, {ffun 'I_n -> rows (pool i)} -> ball (gram_of (pool i)) Lam,
  pr (draws coin n) (fun s => geb (learned_risk theta shared learned (chosen s) s - Rarm theta Lam (pool true))
    (regret_1 theta Lam 1 n delta 1 + eps)) <= delta + 2 * q4 theta Lam 1 (/ 4) n /\
  pr (draws coin n) (fun s => geb (learned_risk theta shared learned (chosen s) s - Rarm theta Lam (pool true))
    (optimism theta Lam 1 n + dev theta Lam 1 n (2 * INR 2 / delta) + dev theta Lam 1 n (2 / delta) + eps)) <= delta.
Proof.
move=> e0 Hd.
have [learned Hl] : exists learned : forall i, {ffun 'I_n -> rows (pool i)} -> ball (gram_of (pool i)) Lam,
    forall i, forall s, emp (@surr theta Lam 1 (pool i)) s (learned i s) <= Varm theta Lam s + eps.
  apply: (finite_choice_dep (T := bool_finType) (W := fun i => {ffun 'I_n -> rows (pool i)} -> ball (gram_of (pool i)) Lam)
    (fun i _ => zero Lam_pos (pool i)) (P := fun i learned => forall s, emp (@surr theta Lam 1 (pool i)) s (learned s) <= Varm theta Lam s + eps)) => i.
  exact: (learned_exists Htheta Lam_pos one_pos (pool i) n e0).
exists learned; split.
  have H := @lemma_1_ii theta Lam 1 Htheta Lam_pos one_pos _ pool n _ (draws coin n) shared chosen eps delta learned n0
     (fun i f => erefl) Hd Hl true chosen_smallest.
  by rewrite pool_S in H; apply: Rle_trans H _; apply: Rplus_le_compat_l; exact: pool_lemma_1_i.
have := @theorem_6_i theta Lam 1 Htheta Lam_pos one_pos _ pool n _ (draws coin n) shared chosen eps delta learned n0
     (fun i f => erefl) Hd Hl true chosen_smallest.
by rewrite card_bool.
Qed.
End UniformPool.

(** ** Median elimination with accumulated shared rows *)
Section MedianPool.
Variable B : nat.
Hypothesis B400 : (400 <= B)%N.
Notation T := (median_elimination_arms.T bool_finType).
Notation N := (median_elimination_arms.N bool_finType B).
Notation n := (median_elimination_arms.n bool_finType B).
Lemma pool_rounds : T = 1%N. Proof. by rewrite /median_elimination_arms.T card_bool. Qed.
Lemma pool_first : n 0 = (B %/ 2)%N.
Proof. by rewrite /median_elimination_arms.n pool_rounds /alive_count /= card_bool mul1n. Qed.
Lemma pool_start : launched theta Lam 1 (/ 4) (n 0).
Proof. by apply: launched_200; rewrite pool_first leq_divRL. Qed.
(** The rows of round t are the first N t of one shared sample. *)
Definition total := N T.-1.
Lemma prefix_le t : (t < T)%N -> (N t <= total)%N.
Proof. by rewrite /total pool_rounds; case: t. Qed.
Definition prefix_rows (t : nat) (i : bool) (s : {ffun 'I_total -> bool}) : {ffun 'I_(N t) -> rows (pool i)} :=
  if (N t <= total)%N =P true is ReflectT le then prefix le s else [ffun _ => true].
Lemma prefix_rows_draws t i f : (t < T)%N -> ex (draws coin total) (fun s => f (prefix_rows t i s)) = ex (draws coin (N t)) f.
Proof.
move=> lt; rewrite /prefix_rows; case: eqP => [le|]; last by rewrite prefix_le.
exact: (prefix_distribution coin le f).
Qed.
Notation half := (@better_half bool_finType).
Notation left_arms := (alive half (fun t s i => Varm theta Lam (prefix_rows t i s)) T).
Theorem pool_lemma_2_i : pr (draws coin total) (fun s => lost (S theta Lam pool true) (left_arms s)) <= quotient (q4 theta Lam 1 (/ 4) (n 0)).
Proof.
have q0 : 0 < / 4 by lra.
apply: (lemma_2_i_printed_accumulated (c := 1) Htheta Lam_pos one_pos pool_minimal q0 pool_gaps (@better_half_sub _) (@better_half_card _)
   (@better_half_small _) pool_start _ pool_S prefix_rows_draws).
by rewrite card_bool.
Qed.
(** Rows drawn anew in every round. *)
Theorem pool_lemma_2_i_fresh :
  fail (S theta Lam pool true) half (fun t => draws coin (n t)) (fun t s i => Varm theta Lam (shared (n := n t) i s)) T 0 [set: bool]
  <= quotient (q4 theta Lam 1 (/ 4) (n 0)).
Proof.
have q0 : 0 < / 4 by lra.
exact: (@lemma_2_i_printed_fresh theta Lam 1 Htheta Lam_pos one_pos _ pool true (/ 4) B pool_minimal q0 pool_gaps half
   (@better_half_sub _) (@better_half_card _) (@better_half_small _) pool_start (fun t => finfun_finType (ordinal_finType (n t)) bool_finType)
   (fun t => draws coin (n t)) (fun t i s => shared i s) (fun t i f => erefl)).
Qed.
End MedianPool.

(** ** Theorems 1 and 2 on random training sets: all training sets meet the conditions *)
Section TrainingPool.
Variables (m : nat) (x0 : 'I_m).
Notation training := {ffun 'I_m -> bool}.
Notation train tr i := (train pool_psd label_of_sq pool_diag x0 tr i).
Notation risk tr i := (Rarm theta Lam (train tr i)).
Lemma train_gap (tr : training) : / 4 <= risk tr false - risk tr true.
Proof.
have := @risk_informed (train tr true) (fun _ _ => erefl); have := @risk_blind (train tr false) (fun _ _ => erefl); lra.
Qed.
Lemma train_conditions tr n : (200 <= n)%N ->
  conditions theta Lam pool_psd label_of_sq pool_diag x0 true predT (fun _ => / 4) tr n.
Proof.
move=> n200; split=> //; try lra.
- by move=> i; have := train_gap tr; case: i; lra.
- by case=> [|_]; [rewrite inE => /negP []; apply/gebP; lra | exact: train_gap].
- exact: launched_200.
Qed.
Lemma pool_feature : gram_of_pool true = feature_gram (fun z : bool => z) (fun z z' => label_of z * label_of z').
Proof. by []. Qed.
Lemma train_learned n eps : 0 < eps ->
  exists learned : forall tr i, {ffun 'I_n -> 'I_m} -> ball (gram_of (train tr i)) Lam,
  forall tr i s, emp (@surr theta Lam 1 (train tr i)) s (learned tr i s) <= Varm theta Lam (a := train tr i) s + eps.
Proof.
move=> e0.
have [F HF] : exists F : forall q : training * bool, {ffun 'I_n -> 'I_m} -> ball (gram_of (train q.1 q.2)) Lam,
    forall q, forall s, emp (@surr theta Lam 1 (train q.1 q.2)) s (F q s) <= Varm theta Lam (a := train q.1 q.2) s + eps.
  apply: (finite_choice_dep (T := prod_finType _ bool_finType) (fun q _ => zero Lam_pos (train q.1 q.2))
    (P := fun q F => forall s, emp (@surr theta Lam 1 (train q.1 q.2)) s (F s) <= Varm theta Lam (a := train q.1 q.2) s + eps)) => q.
  exact: (learned_exists Htheta Lam_pos one_pos (train q.1 q.2) n e0).
by exists (fun tr i => F (tr, i)) => tr i s; exact: (HF (tr, i) s).
Qed.
Notation R_ap := (approximation_error coin (fun z : bool => z) label_of theta (fun z z' => label_of z * label_of z') Lam).
Notation bayes := (bayes_risk coin (fun z : bool => z) label_of theta).

Definition first_choice n (tr : training) (s : {ffun 'I_n -> 'I_m}) : bool :=
  smallest true (fun i => Varm theta Lam (a := train tr i) s).
Theorem pool_theorem_1_paper n eps delta : (200 <= n)%N -> 0 < eps -> 0 < delta < 1 ->
  exists learned : forall tr i, {ffun 'I_n -> 'I_m} -> ball (gram_of (train tr i)) Lam,
  ex (draws coin m) (fun tr => pr (draws (unif x0) n) (fun w =>
    geb (final_risk theta coin (uniform_model (@first_choice n) (fun _ _ s => s) learned) tr w - bayes)
      (bound_1 theta Lam pool_psd label_of_sq pool_diag x0 true predT eps delta n tr + R_ap))) <=
  delta + 2 * (2 * q4 theta Lam 1 (/ 4) n).
Proof.
move=> n200 e0 Hd; have [learned Hl] := train_learned n e0; exists learned.
have n0 : (0 < n)%N by exact: leq_trans n200.
have P0 : (0 < #|(predT : pred bool)|)%N by rewrite card_bool.
have H := @theorem_1_paper theta Lam 1 Htheta Lam_pos one_pos _ _ coin gram_of_pool label_of pool_psd label_of_sq pool_diag m x0 true
  predT eps delta Hd P0 predT (fun _ => / 4) _ (fun _ => draws (unif x0) n) (@first_choice n) _ _ _ pool_feature n (fun _ _ s => s) learned
  n0 (fun _ _ _ => erefl) _ Hl (fun tr _ => train_conditions tr n200).
apply: (Rle_trans _ _ _ _ (Rle_trans _ _ _ (H _) _)).
- by apply: ex_le => tr; rewrite /ind Rmult_1_l; lra.
- by move=> tr w i; exact: (smallestP true (fun i => Varm theta Lam (a := train tr i) w)).
- apply: Rplus_le_compat_l; rewrite -[X in _ <= X](ex_const (draws coin m)); apply: ex_le => tr.
  rewrite /ind Rmult_1_l /fail_1; apply: Rmult_le_compat_r; first by have := q_pos theta Lam 1 (/ 4) n; lra.
  by rewrite -[2]/(INR 2); apply: INR_le; rewrite -card_bool; exact: max_card.
Qed.

Section MedianTraining.
Variable B : nat.
Hypothesis B400 : (400 <= B)%N.
Notation T := (median_elimination_arms.T bool_finType).
Notation N := (median_elimination_arms.N bool_finType B).
Notation total := (total B).
Notation half := (@better_half bool_finType).
Definition prefix_of (tr : training) (t : nat) (i : bool) (s : {ffun 'I_total -> 'I_m}) : {ffun 'I_(N t) -> 'I_m} :=
  if (N t <= total)%N =P true is ReflectT le then prefix le s else [ffun _ => x0].
Lemma prefix_of_draws tr t i f : (t < T)%N -> ex (draws (unif x0) total) (fun s => f (prefix_of tr t i s)) = ex (draws (unif x0) (N t)) f.
Proof.
move=> lt; rewrite /prefix_of; case: eqP => [le|]; last by rewrite prefix_le.
exact: (prefix_distribution (unif x0) le f).
Qed.
Notation left_arms tr := (alive half (fun t s i => Varm theta Lam (a := train tr i) (prefix_of tr t i s)) T).
Definition last_arm (tr : training) s : bool := odflt true [pick i in left_arms tr s].
Lemma last_arm_left tr s : last_arm tr s \in left_arms tr s.
Proof.
rewrite /last_arm; case: pickP => [i //|none] /=.
have : #|left_arms tr s| = 1%N by rewrite (alive_card (@better_half_card _)) (one_left true).
by rewrite (eq_card0 none).
Qed.
Theorem pool_theorem_2_paper eps delta : 0 < eps -> 0 < delta < 1 ->
  exists learned : forall tr i, {ffun 'I_(N T.-1) -> 'I_m} -> ball (gram_of (train tr i)) Lam,
  ex (draws coin m) (fun tr => pr (draws (unif x0) total) (fun w =>
    geb (final_risk theta coin (median_model last_arm prefix_of learned) tr w - bayes)
      (bound_2 theta Lam pool_psd label_of_sq pool_diag x0 true predT eps delta B tr + R_ap))) <=
  delta + ex (draws coin m) (fun tr => fail_2 theta Lam pool_psd label_of_sq pool_diag x0 true (fun _ => / 4) B tr).
Proof.
move=> e0 Hd; have [learned Hl] := train_learned (N T.-1) e0; exists learned.
have P0 : (0 < #|(predT : pred bool)|)%N by rewrite card_bool.
have Hn : (200 <= median_elimination_arms.n bool_finType B 0)%N by rewrite pool_first leq_divRL.
have H := @theorem_2_paper theta Lam 1 Htheta Lam_pos one_pos _ _ coin gram_of_pool label_of pool_psd label_of_sq pool_diag m x0 true
  predT eps delta Hd P0 predT (fun _ => / 4) _ (fun _ => draws (unif x0) total) last_arm _ _ _ pool_feature B half
  (@better_half_sub _) (@better_half_card _) (@better_half_small _) prefix_of learned
  prefix_of_draws last_arm_left Hl (fun tr _ => train_conditions tr Hn).
apply: (Rle_trans _ _ _ _ (Rle_trans _ _ _ H _)).
- by apply: ex_le => tr; rewrite /ind Rmult_1_l; lra.
- by apply: Rplus_le_compat_l; apply: ex_le => tr; rewrite /ind Rmult_1_l; lra.
Qed.
End MedianTraining.

(** On this pool kappa Lambda = 1/2 <= 2 - 2 theta, so the bound of Theorem 1 says nothing. *)
Theorem pool_empty n eps delta tr : 0 <= eps -> 0 < delta < 1 ->
  theta - bayes <= bound_1 theta Lam pool_psd label_of_sq pool_diag x0 true predT eps delta n tr + R_ap.
Proof.
move=> e0 Hd; apply: (theorem_1_empty Htheta Lam_pos one_pos pool_psd label_of_sq pool_diag x0 predT delta e0 pool_feature) => //.
by right; rewrite /theta /Lam; lra.
Qed.
End TrainingPool.

(** ** The other condition of the empty bounds: a feature that says nothing has R_1* = theta >= theta/(3 - 2 theta) *)
Theorem blind_bayes : bayes_risk coin (fun _ : bool => tt) label_of theta = theta /\ theta / (3 - 2 * theta) <= theta.
Proof.
split; last by rewrite /theta; lra.
rewrite (@eq_4_independent _ _ coin (fun _ => tt) label_of theta label_of_sq Htheta (/ 2)) => [|[]].
  by rewrite /theta (Rmin_left (/ 2)) ?Rmin_right; lra.
rewrite /mass_pos /mass_neg -ex_add !ex_sgn /=; lra.
Qed.

(** ** Lemma B, Theorem 2 and Eq. 3 *)
Lemma constant_psd : psd (T := bool_finType) (fun _ _ => 1).
Proof.
split=> // u; rewrite /dot.
have -> : \rsum_(x : bool) \rsum_(y : bool) (u x * u y * 1) = (\rsum_(x : bool) u x) * (\rsum_(x : bool) u x).
  by rewrite rsum_mulr; apply: eq_bigr => x _; rewrite rsum_mull; apply: eq_bigr => y _; ring.
exact: Rle_0_sqr.
Qed.
Theorem pool_lemma_B (f : ball (T := bool_finType) (fun _ _ => 1) Lam) x x' :
  arm.L label_of theta f x - arm.L label_of theta f x' <= sqrt 2 * Rmax 1 (b theta) * arm.r Lam 1.
Proof.
by apply: (lemma_B (kappa := 1) constant_psd label_of_sq _ _ Htheta (Rlt_le _ _ Lam_pos)) => [z|z z'|]; lra.
Qed.
Theorem pool_theorem_2 n : (0 < n)%N -> let x := excess_gap theta Lam (pool true) (pool false) n in let M := arm.M theta Lam 1 in
  pr (draws coin n) (fun s => geb (Varm theta Lam (shared true s)) (Varm theta Lam (shared false s)))
    <= 2 * exp (- (INR n * (pos x * pos x) / (2 * (M * M)))) /\
  ex (draws coin n) (fun s => pr (draws coin n) (fun s' => geb (Varm theta Lam (shared true s)) (Varm theta Lam (shared false s'))))
    <= exp (- (INR n * (pos x * pos x) / (M * M))).
Proof.
move=> n0 x M; have HM := uniform_allocation.M_pos Htheta Lam_pos one_pos.
have Hd i := @surr_diff theta Lam 1 Htheta one_pos (pool i).
split.
  exact: (@theorem_2_arbitrary theta Lam 1 Htheta Lam_pos one_pos (pool true) (pool false) n M n0 HM (Hd true) (Hd false) _ (draws coin n)
    (fun s => s) (fun s => s) (fun f => erefl) (fun f => erefl)).
exact: (@theorem_2_independent theta Lam 1 Htheta Lam_pos one_pos (pool true) (pool false) n M n0 HM (Hd true) (Hd false)).
Qed.
Theorem pool_eq_3 wh wg : objective (gram_of_pool true) label_of coin theta 1 (best_h label_of coin 1) (best_g coin 1)
    <= objective (gram_of_pool true) label_of coin theta 1 wh wg.
Proof.
have reg : 1 * 1 / (4 * 1) <= 1 - 2 * theta by rewrite /theta; lra.
have E := @eq_3 _ (gram_of_pool true) label_of coin theta 1 1 (pool_psd true) label_of_sq (pool_diag true) Htheta ltac:(lra) ltac:(lra) reg wh wg.
have := dot_ge0 (pool_psd true) (fun z => wh z - best_h label_of coin 1 z).
by have := dot_ge0 (pool_psd true) (fun z => wg z - best_g coin 1 z); lra.
Qed.

(** ** The identification conditions of the registry's inequalities *)
Theorem identified_exists : registry.identified 64 1000 (/ 4) theta Lam /\ registry.identified 16 1000 (/ 4) theta Lam.
Proof. by rewrite /registry.identified /theta /Lam; split; lra. Qed.

(** ** Shared rows as counts: Theorems 2 and 3 of docs/theorems.md on two rows, with the label of the first and of the second row *)
Section SharedPool.
Variable n : nat.
Hypothesis n0 : (0 < n)%N.
Definition row_label (z : 'I_2) : R := sg (z == ord0).
Definition row_gram (i : bool) (z z' : 'I_2) : R := if i then row_label z * row_label z' else 0.
Lemma row_label_sq z : row_label z * row_label z = 1. Proof. exact: sg_sq. Qed.
Lemma row_psd i : psd (row_gram i).
Proof.
have := rows_psd (fun z : 'I_2 => z == ord0) (pool_psd i); rewrite /rows_gram /gram_of_pool /row_gram.
by case: i.
Qed.
Lemma row_diag i z : row_gram i z z <= 1 * 1.
Proof. by rewrite /row_gram; case: i; rewrite ?row_label_sq; lra. Qed.
Definition row_choice (s : {ffun 'I_n -> 'I_2}) : bool := smallest true (fun i => affine.V row_gram row_label theta Lam i s).
Theorem pool_theorem_3_b a : 0 <= a ->
  INR #|[pred s | rival true (affine.risk ord0 row_gram row_label theta Lam) (row_choice s)]| / INR 2 ^ n <=
  exp (- (2 * INR n * (a * a) / (arm.M theta Lam 1 * arm.M theta Lam 1)))
  + \rsum_(i | rival true (affine.risk ord0 row_gram row_label theta Lam) i)
      exp (- (2 * INR n * (pos (x_ n ord0 true row_gram row_label theta Lam 1 i - a) * pos (x_ n ord0 true row_gram row_label theta Lam 1 i - a))
        / (arm.M theta Lam 1 * arm.M theta Lam 1))).
Proof.
move=> a0; apply: (theorem_3_b ord0 true row_psd row_label_sq row_diag Htheta Lam_pos one_pos n0 (sel := row_choice)) => // s i.
exact: (smallestP true (fun i => affine.V row_gram row_label theta Lam i s)).
Qed.
End SharedPool.

(** ** Evidence by betting: coins that fail with probability 1/2, bound 1/2, one rate 1/4 *)
Lemma fair_fails (past : seq bool) : / 2 <= pr (T := bool_finType) sgn id.
Proof. by rewrite /pr ex_sgn /=; lra. Qed.
Definition quarter_moment := finite_moment (Q := unit_finType) (unif tt) (fun _ => / 4).
Theorem pool_certificate alpha N : 0 < alpha ->
  path_ex (fun _ => sgn) N [::] (fun path => ind (reaches (evidence id quarter_moment (/ 2)) (/ alpha) N [::] path)) <= alpha.
Proof.
have Hq (j : unit) : 0 <= / 4 <= 1 by lra.
move=> a0; apply: certificate => //; try lra.
- exact: (finite_moment_ge0 (unif tt) Hq).
- exact: finite_moment_split.
- exact: finite_moment_start.
- by apply: (finite_moment_below (unif tt) Hq) => j; lra.
- exact: fair_fails.
Qed.
(** The same coins and Jeffreys' mixture: the evidence at the true mean 1/2 is a supermartingale. *)
Theorem pool_jeffreys : supermartingale (fun _ => sgn) (evidence id jeffreys (/ 2)).
Proof.
apply: mean_evidence; try lra.
- exact: jeffreys_ge0.
- exact: jeffreys_split.
- by move=> past; rewrite /pr ex_sgn /=; lra.
Qed.
