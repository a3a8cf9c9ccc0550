(** Theorem 9 of docs/theorems.md: a population of m rows and two arms with gap Delta on which arm 2 has the smaller score, or the
    same, on every sample of n < r^2 / (Delta + r / sqrt m)^2 rows. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm calibration affine uniform_allocation registry_arms.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section LaunchBudget.
Variables (theta Lam kappa Delta : R) (m : nat) (x0 : 'I_m).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa) (D0 : 0 < Delta).
Notation r := (kappa * Lam).
Notation root := (r / sqrt (INR m)).
Hypotheses (small_r : Delta + root <= r) (small_theta : Delta + root <= 1 - 2 * theta).
Definition feature : R := (Delta + root) / Lam.
Definition one_label (_ : 'I_m) : R := 1.
Definition shared_gram (_ _ : 'I_m) : R := feature * feature.
Definition own_gram (x x' : 'I_m) : R := kappa * kappa * ind (x == x').
Lemma m0 : (0 < m)%N. Proof. exact: leq_ltn_trans (leq0n x0) (ltn_ord x0). Qed.
Let Hm : 0 < INR m := INR_pos m0.
Let Hs : 0 < sqrt (INR m). Proof. exact: sqrt_lt_R0. Qed.
Lemma root_pos : 0 < root. Proof. by apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat. Qed.
Lemma feature_Lam : feature * Lam = Delta + root. Proof. by rewrite /feature; field; lra. Qed.
Lemma feature_range : 0 < feature <= kappa.
Proof.
have := root_pos; split; first by apply: Rdiv_lt_0_compat; lra.
by apply: (Rmult_le_reg_r Lam) => //; rewrite feature_Lam.
Qed.
Lemma one_label_sq x : one_label x * one_label x = 1. Proof. by rewrite /one_label; ring. Qed.
Lemma shared_dot u v : dot shared_gram u v = feature * feature * ((\rsum_x u x) * (\rsum_x v x)).
Proof. rewrite /dot rsum_mulr rsum_mull; apply: eq_bigr => x _; rewrite !rsum_mull; apply: eq_bigr => y _; rewrite /shared_gram; ring. Qed.
Lemma own_dot u v : dot own_gram u v = kappa * kappa * \rsum_x (u x * v x).
Proof.
rewrite /dot rsum_mull; apply: eq_bigr => x _; rewrite (bigD1 x) //= big1 => [|y ne].
  by rewrite /own_gram eqxx /=; ring.
by rewrite /own_gram eq_sym (negbTE ne) /=; ring.
Qed.
Lemma shared_psd : psd shared_gram.
Proof. by split=> // u; rewrite shared_dot; apply: Rmult_le_pos; exact: Rle_0_sqr. Qed.
Lemma own_psd : psd own_gram.
Proof.
split=> [x y|u]; first by rewrite /own_gram eq_sym.
by rewrite own_dot; apply: Rmult_le_pos; [exact: Rle_0_sqr | apply: rsum_ge0 => x _; exact: Rle_0_sqr].
Qed.
Lemma shared_diag (x : 'I_m) : shared_gram x x <= kappa * kappa.
Proof. by have := feature_range => ?; apply: Rmult_le_compat; lra. Qed.
Lemma own_diag (x : 'I_m) : own_gram x x <= kappa * kappa.
Proof. by rewrite /own_gram eqxx /=; lra. Qed.
Definition arm_1 : arm kappa := Arm (unif x0) shared_psd one_label_sq shared_diag.
Definition arm_2 : arm kappa := Arm (unif x0) own_psd one_label_sq own_diag.
Let Lam0' : 0 <= Lam. Proof. lra. Qed.
Let f0' : 0 <= feature. Proof. by have := feature_range; lra. Qed.
Let regime : feature * Lam <= 1 - 2 * theta. Proof. by rewrite feature_Lam. Qed.

(** Arm 1 has the risk 1 - Delta - r / sqrt m, which is its score on every sample. *)
Lemma shared_norm (u : 'I_m -> R) : \rsum_x u x = 1 -> nrm shared_gram u = feature.
Proof. by move=> e; rewrite /nrm shared_dot e !Rmult_1_r sqrt_square. Qed.
Lemma shared_closed (u v : 'I_m -> R) : \rsum_x u x = 1 -> \rsum_x v x = 1 ->
  closed shared_gram Lam u v = 1 - (Delta + root).
Proof. by move=> eu ev; rewrite /closed !shared_norm // -feature_Lam; field. Qed.
Lemma feat_total (x : 'I_m) : \rsum_z feat x z = 1.
Proof. by rewrite (bigD1 x) //= big1 => [|z ne]; rewrite /feat ?eqxx ?(negbTE ne) /=; lra. Qed.
Lemma phi_total c (x : 'I_m) : (forall x, c x = 1) -> \rsum_z phi c x z = 1.
Proof. by move=> c1; rewrite /phi -rsum_mull c1 feat_total; ring. Qed.
Lemma risk_1 : Rarm theta Lam arm_1 = 1 - (Delta + root).
Proof.
have E c : (forall x, c x = 1) -> \rsum_z mu (unif x0) c z = 1.
  by move=> c1; rewrite /mu -ex_rsum (ex_ext (fun _ => 1)) ?ex_const // => x; exact: phi_total.
rewrite -(@shared_closed (mu (unif x0) one_label) (mu (unif x0) (fun _ => 1))) ?E //.
exact: (risk_closed shared_psd one_label_sq (fun _ => Rle_refl _) Htheta Lam0' f0' regime (unif x0)).
Qed.
Lemma score_1 n (s : {ffun 'I_n -> 'I_m}) : (0 < n)%N -> Varm theta Lam (a := arm_1) s = 1 - (Delta + root).
Proof.
move=> n0; have Hn := INR_pos n0.
have E c : (forall x, c x = 1) -> \rsum_z mean c s z = 1.
  move=> c1; rewrite /mean -rsum_mull exchange_big /=.
  have -> : \rsum_(i : 'I_n) \rsum_z phi c (s i) z = INR n; last by field; lra.
  rewrite (eq_bigr (fun _ => 1)) => [|i _]; last by rewrite phi_total.
  by rewrite rsum_const card_ord Rmult_1_r.
rewrite -(@shared_closed (mean one_label s) (mean (fun _ => 1) s)) ?E //.
exact: (score_closed shared_psd one_label_sq (fun _ => Rle_refl _) Htheta Lam0' f0' regime n0 s).
Qed.

(** Arm 2: the model h = t, g = - t on a set of rows. *)
Section Model.
Variables (P : pred 'I_m) (t : R).
Hypotheses (t0 : 0 <= t) (few : INR #|P| * (t * t) <= r * r).
Definition weight c (x : 'I_m) : R := c * (t / (kappa * kappa)) * ind (P x).
Lemma weight_in c : c * c = 1 -> nrm own_gram (weight c) <= Lam.
Proof.
move=> c1; rewrite /nrm own_dot -[X in _ <= X]sqrt_square //; apply: sqrt_le_1_alt.
have -> : \rsum_x (weight c x * weight c x) = INR #|P| * (t / (kappa * kappa) * (t / (kappa * kappa))).
  rewrite -rsum_const_pred [RHS]big_mkcond /=; apply: eq_bigr => x _; rewrite /weight /ind; case: (P x) => /=; last ring.
  by rewrite (_ : _ * _ = c * c * (t / (kappa * kappa) * (t / (kappa * kappa)))); [rewrite c1; ring | ring].
have kk : 0 < kappa * kappa by nra.
apply: (Rmult_le_reg_l (kappa * kappa)) => //.
rewrite (_ : _ * (_ * _) = INR #|P| * (t * t)); last by field; lra.
by rewrite (_ : kappa * kappa * (Lam * Lam) = r * r); last ring.
Qed.
Definition flat : ball (gram_of arm_2) Lam :=
  exist _ (weight 1, weight (-1)) (conj (@weight_in 1 ltac:(lra)) (@weight_in (-1) ltac:(lra))).
Lemma weight_value c x : P x -> dot own_gram (weight c) (feat x) = c * t.
Proof.
move=> Px; rewrite own_dot (bigD1 x) //= big1 => [|z ne]; last by rewrite /feat (negbTE ne) /=; ring.
by rewrite /weight /feat Px eqxx /=; field; lra.
Qed.
Lemma flat_loss x : t <= 1 - 2 * theta -> P x -> @uniform_allocation.surr theta Lam kappa arm_2 flat x = 1 - t.
Proof.
move=> tt Px; rewrite /uniform_allocation.surr /arm.L /h /g /= !weight_value // /one_label.
by rewrite (loss_affine theta t _ _ Htheta tt); [field | rewrite Rabs_right; lra | rewrite Rabs_left1; lra].
Qed.
End Model.

Lemma risk_2 : Rarm theta Lam arm_2 = 1 - root.
Proof.
have rp := root_pos; apply: Rle_antisym.
  have few : INR #|(predT : pred 'I_m)| * (root * root) <= r * r.
    by rewrite card_ord -[X in X * _](sqrt_sqrt (INR m)); [apply: Req_le; field; lra | lra].
  apply: Rle_trans (registry_arms.least_risk Htheta Lam0 k0 (a := arm_2) (flat few)) _.
  rewrite -[X in _ <= X](ex_const (unif x0)); apply: Req_le; apply: ex_ext => x.
  by apply: flat_loss => //; lra.
apply: (inf_ge (zero Lam0 arm_2)) => f; case: (svalP f) => N1 N2.
pose M1 := mu (unif x0) (fun _ : 'I_m => 1).
have norm : nrm own_gram M1 = kappa / sqrt (INR m).
  have E z : M1 z = / INR m.
    by rewrite /M1 /mu ex_unif card_ord (bigD1 z) //= big1 => [|x ne]; rewrite /phi /feat ?eqxx 1?eq_sym ?(negbTE ne) /=; [field; lra | ring].
  rewrite /nrm own_dot (eq_bigr (fun _ => / INR m * / INR m)) => [|z _]; last by rewrite E.
  rewrite rsum_const card_ord (_ : _ * _ = kappa * kappa * / INR m); last by field; lra.
  by rewrite sqrt_mult_alt ?sqrt_square ?sqrt_inv //; nra.
have C (w : 'I_m -> R) : nrm own_gram w <= Lam -> Rabs (dot own_gram M1 w) <= root.
  move=> H; apply: Rle_trans (cauchy_abs own_psd _ _) _; rewrite norm (_ : root = kappa / sqrt (INR m) * Lam); last by field; lra.
  by apply: Rmult_le_compat_l => //; apply: Rlt_le; exact: Rdiv_lt_0_compat.
have B1 := Rabs_between (C _ N1); have B2 := Rabs_between (C _ N2).
have value w : ex (unif x0) (fun x => dot own_gram w (feat x)) = dot own_gram M1 w.
  by rewrite dot_mu; apply: ex_ext => x; rewrite /phi dot_scal (dotC own_psd); ring.
apply: (Rle_trans _ (ex (unif x0) (fun x => 1 + / 2 * (dot own_gram (sval f).2 (feat x) - dot own_gram (sval f).1 (feat x))))).
  by rewrite ex_add ex_const ex_mull ex_sub !value; lra.
apply: ex_le => x; have := first_piece theta (1 * dot own_gram (sval f).1 (feat x)) (dot own_gram (sval f).2 (feat x)).
by rewrite -[uniform_allocation.surr _ _ _]/(loss theta (1 * dot own_gram (sval f).1 (feat x)) (dot own_gram (sval f).2 (feat x))); lra.
Qed.
Lemma score_2 n (s : {ffun 'I_n -> 'I_m}) : (0 < n)%N -> INR n * ((Delta + root) * (Delta + root)) <= r * r ->
  Varm theta Lam (a := arm_2) s <= 1 - (Delta + root).
Proof.
move=> n0 Hn; have N0 := INR_pos n0; have rp := root_pos; have t0 : 0 <= Delta + root by lra.
pose P : pred 'I_m := fun x => [exists i, s i == x].
have few : INR #|P| * ((Delta + root) * (Delta + root)) <= r * r.
  apply: Rle_trans Hn; apply: Rmult_le_compat_r; first exact: Rle_0_sqr.
  apply: le_INR; apply/leP; rewrite -[X in (_ <= X)%N]card_ord -cardsT.
  apply: leq_trans (leq_imset_card s [set: 'I_n]); apply: subset_leq_card; apply/subsetP => x /existsP [i /eqP <-].
  by apply/imsetP; exists i.
apply: Rle_trans (inf_le (zero Lam0 arm_2) (flat few) (bnd_emp (surr_bnd Lam Htheta k0 (a := arm_2)) s)) _.
rewrite /emp (eq_bigr (fun _ => 1 - (Delta + root))) => [|i _]; last first.
  by apply: flat_loss => //; apply/existsP; exists i.
by rewrite rsum_const card_ord; apply: Req_le; field; lra.
Qed.

(** remark-5-launch-budget corrected *)
Theorem theorem_9 : Rarm theta Lam arm_2 - Rarm theta Lam arm_1 = Delta /\
  forall n (s1 s2 : {ffun 'I_n -> 'I_m}), (0 < n)%N -> INR n < r * r / ((Delta + root) * (Delta + root)) ->
  Varm theta Lam (a := arm_2) s2 <= Varm theta Lam (a := arm_1) s1.
Proof.
split; first by rewrite risk_1 risk_2; ring.
move=> n s1 s2 n0 Hn; rewrite score_1 //; apply: score_2 => //.
have rp := root_pos; have p : 0 < (Delta + root) * (Delta + root) by apply: Rmult_lt_0_compat; lra.
have := Rmult_lt_compat_r _ _ _ p Hn; move: (_ * (Delta + root)) p => X p.
by rewrite (_ : r * r / X * X = r * r); [lra | field; lra].
Qed.
End LaunchBudget.
