(** The paper's Lemma 3, and its Theorems 1 and 2, corrected, for a distribution with finite support. The training set is m
    independent draws from the distribution; given it, the exploration draws rows of the training set. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import registry finite_probability concentration selection gram rademacher arm span bayes uniform_allocation.
From Exml Require Import median_elimination median_elimination_arms registry_arms printed_form regret.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** The deviation sqrt(ln(level) / 2m) of m rows with a loss in [0, 1]. *)
Definition dev_1 (m : nat) (level : R) : R := sqrt (ln level / (2 * INR m)).
Lemma dev_1_level m delta : (0 < m)%N -> 0 < delta < 1 ->
  0 <= dev_1 m (1 / delta) /\ exp (- (2 * INR m * (dev_1 m (1 / delta) * dev_1 m (1 / delta)) / (1 * 1))) = delta.
Proof.
move=> m0 Hd; have Hm := INR_pos m0; split; first exact: sqrt_pos.
have L : 0 <= ln (1 / delta).
  rewrite -ln_1; apply: Rlt_le; apply: ln_increasing; first lra.
  by rewrite /Rdiv Rmult_1_l -{1}Rinv_1; apply: Rinv_lt_contravar; lra.
rewrite /dev_1 sqrt_sqrt; last by apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rinv_0_lt_compat; lra.
have -> : 2 * INR m * (ln (1 / delta) / (2 * INR m)) / (1 * 1) = ln (1 / delta) by field; lra.
by rewrite exp_Ropp exp_ln; [field; lra | apply: Rdiv_lt_0_compat; lra].
Qed.

Section Lemma3.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Notation arm := (arm kappa).
Notation r := (arm.r Lam kappa).
Notation surr a := (@uniform_allocation.surr theta Lam kappa a).
Variables (a : arm) (m : nat).
Hypothesis m0 : (0 < m)%N.
Notation model := (ball (gram_of a) Lam).
(** The 0-1 loss of a model at a row, and the surrogate loss cut off at 1, which lies between the two. *)
Definition error (f : model) x : R := loss_0_1 theta (h f x) (g f x) (label a x).
Definition clip (f : model) x : R := Rmin (surr a f x) 1.
Lemma error_clip f x : error f x <= clip f x.
Proof.
apply: Rmin_glb; first exact: eq_2_upper_bound.
by rewrite /error /loss_0_1; case: Rle_dec => ?; [lra | case: Rle_dec => ?; lra].
Qed.
Lemma clip_range f x : 0 <= clip f x <= 1.
Proof. by split; [apply: Rmin_glb; [exact: Rmax_r | lra] | exact: Rmin_r]. Qed.
Lemma clip_bnd x : bnd (fun f => clip f x).
Proof. by exists 1 => f; have := clip_range f x => ?; apply: Rabs_le; lra. Qed.
Lemma clip_diff f x x' : clip f x - clip f x' <= 1.
Proof. by have := clip_range f x; have := clip_range f x'; lra. Qed.
Lemma lip_min : lip1 (fun u => Rmin u 1).
Proof. by move=> u v; rewrite /Rmin /Rabs; do 2 case: Rle_dec; case: Rcase_abs; lra. Qed.
Lemma clip_rad s : rad clip s <= rad (surr a) s (n := m).
Proof.
have sb := @surr_bnd theta Lam kappa Htheta k0 a.
have := contraction (zero Lam0 a) (a := fun (i : 'I_m) f => surr a f (s i)) (bnd_const _ 0) (fun i => sb _) lip_min.
move=> C; apply: (Rle_trans _ _ _ _ (Rle_trans _ _ _ C _)); apply: Req_le; apply: ex_ext => e; apply: sup_ext => f;
  by rewrite Rplus_0_l.
Qed.
Notation D := (distribution a).
Lemma clip_mean : ex (draws D m) (supdev D clip) <= (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR m)).
Proof.
have Hm := INR_pos m0.
apply: Rle_trans (supdev_mean (zero Lam0 a) D m0 clip_bnd) _.
rewrite -ex_mull -[X in _ <= X](ex_const (draws D m)); apply: ex_le => s.
apply: Rle_trans (a6_rademacher Htheta Lam0 k0 s m0); rewrite -Rmult_assoc; apply: Rmult_le_compat_l; last exact: clip_rad.
by apply: Rmult_le_pos; [lra | apply: Rlt_le; exact: Rinv_0_lt_compat].
Qed.
(** The bound of Lemma 3. *)
Definition bound_3 (level : R) : R := (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR m)) + dev_1 m level.
Lemma clip_level delta : 0 < delta < 1 ->
  pr (draws D m) (fun s => geb (supdev D clip s) (bound_3 (1 / delta))) <= delta.
Proof.
move=> Hd; have [t0 E] := dev_1_level m0 Hd.
have B := supdev_diff (zero Lam0 a) D m0 clip_bnd clip_diff.
apply: Rle_trans (Req_le _ _ E); apply: Rle_trans (score_high D m0 Rlt_0_1 B t0).
by apply: pr_sub => s /gebP l; apply/gebP; rewrite /bound_3 in l; have := clip_mean; lra.
Qed.
Lemma error_dev (s : {ffun 'I_m -> rows a}) f : ex D (error f) - emp (surr a) s f <= supdev D clip s.
Proof.
have := sup_ge (zero Lam0 a) f (bnd_dev D clip_bnd s); rewrite -/(supdev D clip s).
have : ex D (error f) <= ex D (clip f) by apply: ex_le => x; exact: error_clip.
suff : emp clip s f <= emp (surr a) s f by lra.
apply: Rmult_le_compat_l; first by apply: Rlt_le; apply: Rinv_0_lt_compat; exact: INR_pos.
by apply: rsum_le => i _; exact: Rmin_l.
Qed.
(** lemma-3, term-a, lemma-3-theta corrected: all models of the ball at once, so any model that is chosen after the sample was
    seen. *)
Theorem lemma_3 (learned : {ffun 'I_m -> rows a} -> model) delta : 0 < delta < 1 ->
  pr (draws D m) (fun s => geb (ex D (error (learned s)) - emp (surr a) s (learned s)) (bound_3 (1 / delta))) <= delta.
Proof.
move=> Hd; apply: Rle_trans (clip_level Hd); apply: pr_sub => s /gebP l; apply/gebP.
by have := error_dev s (learned s); lra.
Qed.
End Lemma3.

(** * Supervised learning on the known best feature *)
Section Supervised.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (Z F : finType) (D : fdist Z) (x : Z -> F) (k : F -> F -> R) (y : Z -> R).
Hypotheses (Kpsd : psd (feature_gram x k)) (y1 : forall z, y z * y z = 1) (Kk : forall z, feature_gram x k z z <= kappa * kappa).
Definition feature_arm : arm kappa := Arm D Kpsd y1 Kk.
(** eq-6 corrected: the minimiser over the ball, up to eps, on B rows. *)
Theorem eq_6 (B : nat) (learned : {ffun 'I_B -> Z} -> ball (gram_of feature_arm) Lam) eps delta : (0 < B)%N -> 0 < delta < 1 ->
  (forall s, emp (@surr theta Lam kappa feature_arm) s (learned s) <= Varm theta Lam (a := feature_arm) s + eps) ->
  pr (draws D B) (fun s => geb (ex D (error theta (a := feature_arm) (learned s)) - bayes_risk D x y theta)
    (bound_3 theta Lam kappa B (2 / delta) + dev theta Lam kappa B (2 / delta) + eps + approximation_error D x y theta k Lam))
  <= delta.
Proof.
move=> B0 Hd Hl; have -> : 2 / delta = 1 / (delta / 2) by field; lra.
have Hd2 : 0 < delta / 2 < 1 by lra.
have P1 := @lemma_3 theta Lam kappa Htheta Lam0 k0 feature_arm B B0 learned (delta / 2) Hd2.
have P2 := @score_level theta Lam kappa Htheta Lam0 k0 feature_arm B (delta / 2) B0 Hd2.
apply: (Rle_trans _ (delta / 2 + delta / 2)); last lra.
apply: Rle_trans (Rplus_le_compat _ _ _ _ P1 P2); apply: Rle_trans (pr_or _ _ _).
apply: pr_sub => s /gebP l; apply/orP.
set b3 := bound_3 _ _ _ _ _ in l *; set dv := dev _ _ _ _ _ in l *.
case: (Rle_dec (Rarm theta Lam feature_arm + dv) (Varm theta Lam (a := feature_arm) s)) => [le|/Rnot_le_gt gt].
  by right; apply/gebP.
left; apply/gebP; have := Hl s.
have E : Rarm theta Lam feature_arm = bayes_risk D x y theta + approximation_error D x y theta k Lam.
  by rewrite /approximation_error (_ : Rarm _ _ _ = popmin D (arm.L (K := feature_gram x k) y theta (Lam := Lam))) //; ring.
rewrite E in gt; rewrite -[distribution _]/D.
by move: gt l; move: (Varm _ _ _) (ex _ _) (emp _ _ _) => v1 v2 v3; lra.
Qed.
End Supervised.

(** * Rows of the distribution itself: no assumption on the arms *)
Section Assumptionless.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (I : finType) (a : I -> arm kappa) (n : nat) (Omega : finType) (J : fdist Omega)
          (X : forall i, Omega -> {ffun 'I_n -> rows (a i)}) (sel : Omega -> I) (eps delta : R)
          (learned : forall i, {ffun 'I_n -> rows (a i)} -> ball (gram_of (a i)) Lam).
Hypotheses (n0 : (0 < n)%N)
  (HX : forall i f, ex J (fun w => f (X i w)) = ex (draws (distribution (a i)) n) f)
  (Hd : 0 < delta < 1) (Hl : forall i s, emp (@surr theta Lam kappa (a i)) s (learned s) <= Varm theta Lam s + eps)
  (Hs : forall w i, Varm theta Lam (X (sel w) w) <= Varm theta Lam (X i w)).
(** assumption-necessary corrected, Theorem 6 (ii) of docs/theorems.md with 2 c*: the 0-1 risk of the learned model against the smallest
    surrogate risk of any arm j. *)
Theorem theorem_6_ii (j : I) :
  pr J (fun w => geb (ex (distribution (a (sel w))) (error theta (a := a (sel w)) (learned (X (sel w) w))) - Rarm theta Lam (a j))
    (optimism theta Lam kappa n + dev theta Lam kappa n (2 * INR #|I| / delta) + dev theta Lam kappa n (2 / delta) + eps)) <= delta.
Proof.
apply: Rle_trans (theorem_6_i Htheta Lam0 k0 n0 HX Hd Hl j Hs); apply: pr_sub => w /gebP l; apply/gebP.
apply: Rle_trans l _; apply: Rplus_le_compat_r; apply: ex_le => z; exact: eq_2_upper_bound.
Qed.
End Assumptionless.

(** * A random training set *)
Section Training.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (Z I : finType) (D : fdist Z) (gram : I -> Z -> Z -> R) (y : Z -> R).
Hypotheses (Gpsd : forall i, psd (gram i)) (y1 : forall z, y z * y z = 1) (Gk : forall i z, gram i z z <= kappa * kappa).
Variables (m : nat) (x0 : 'I_m).
Notation training := {ffun 'I_m -> Z}.
Lemma m0 : (0 < m)%N. Proof. exact: leq_ltn_trans (leq0n x0) (ltn_ord x0). Qed.
(** The arms on the whole distribution, and on a training set. *)
Definition whole i : arm kappa := Arm D (Gpsd i) y1 (Gk i).
Definition train (tr : training) i : arm kappa :=
  Arm (unif x0) (rows_psd tr (Gpsd i)) (fun j => y1 (tr j)) (fun j => Gk i (tr j)).
Notation risk tr i := (Rarm theta Lam (train tr i)).

(** The smallest risk on the training set is the score of the whole distribution's arm on the training set. *)
Lemma risk_score tr i : risk tr i = Varm theta Lam (a := whole i) tr.
Proof.
pose F (u v : 'I_m -> R) := / INR m * \rsum_j loss theta (y (tr j) * u j) (v j).
have Hm := INR_pos m0.
have E := @ball_of_span _ _ _ tr (Gpsd i) Lam (Rlt_le _ _ Lam0) F 0.
have -> : risk tr i = inf (fun f : ball (rows_gram (gram i) tr) Lam => F (h f) (g f)).
  by apply: inf_ext => f; rewrite ex_unif card_ord /Rdiv Rmult_comm.
rewrite E //.
- move=> u v u' v' eu ev; congr (_ * _); apply: eq_bigr => j _; by rewrite eu ev.
- move=> u v; apply: Rmult_le_pos; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
  by apply: rsum_ge0 => j _; exact: Rmax_r.
Qed.
Lemma train_emp tr i (f : ball (gram_of (train tr i)) Lam) :
  ex (unif x0) (@surr theta Lam kappa (train tr i) f) = emp (@surr theta Lam kappa (whole i)) tr (extend (Gpsd i) f).
Proof.
rewrite ex_unif card_ord /Rdiv Rmult_comm; congr (_ * _); apply: eq_bigr => j _.
by rewrite /surr /arm.L /= -(extend_h (Gpsd i) f j) -(extend_g (Gpsd i) f j).
Qed.

(** Any exploration: a model for every training set and every outcome of the draws. *)
Variables (Omega : finType) (J : training -> fdist Omega) (sel : training -> Omega -> I)
  (model : forall tr (w : Omega) , ball (gram_of (train tr (sel tr w))) Lam) (best : I) (P : pred I).
(** The 0-1 risk of the learned model under the distribution. *)
Definition final_risk tr w : R := ex D (error theta (a := whole (sel tr w)) (extend (Gpsd _) (model tr w))).
Definition train_regret tr w : R :=
  ex (unif x0) (@surr theta Lam kappa (train tr (sel tr w)) (model tr w)) - risk tr best.
Variables (assumed : pred training) (regret fail : training -> R) (delta : R).
Hypotheses (Hd : 0 < delta < 1) (P0 : (0 < #|P|)%N)
  (explored : forall tr, assumed tr -> pr (J tr) (fun w => ~~ P (sel tr w) || geb (train_regret tr w) (regret tr)) <= delta / 3 + fail tr).

(** The terms (a) and (d) of the paper's Eq. 8: what the training set costs. *)
Definition training_cost : R := bound_3 theta Lam kappa m (3 * INR #|P| / delta) + dev theta Lam kappa m (3 / delta).
Theorem excess_risk :
  ex (draws D m) (fun tr => ind (assumed tr) *
    pr (J tr) (fun w => geb (final_risk tr w - Rarm theta Lam (whole best)) (training_cost + regret tr))) <=
  delta + ex (draws D m) (fun tr => ind (assumed tr) * fail tr).
Proof.
have c0 : 0 < INR #|P| by exact: INR_pos.
have c1 : 1 <= INR #|P| by rewrite -[1]/(INR 1); apply: INR_le.
pose lv := 3 * INR #|P| / delta.
pose bad1 (tr : training) := [exists i, P i && geb (supdev D (clip theta (a := whole i) (Lam := Lam)) tr) (bound_3 theta Lam kappa m lv)].
pose bad2 (tr : training) := geb (Varm theta Lam (a := whole best) tr) (Rarm theta Lam (whole best) + dev theta Lam kappa m (3 / delta)).
have B1 : pr (draws D m) bad1 <= delta / 3.
  apply: Rle_trans (pr_union (draws D m) P _) _.
  apply: (Rle_trans _ (\rsum_(i | P i) (delta / (3 * INR #|P|)))); last by rewrite rsum_const_pred; apply: Req_le; field; lra.
  apply: rsum_le => i _; have -> : lv = 1 / (delta / (3 * INR #|P|)) by rewrite /lv; field; lra.
  apply: (@clip_level theta Lam kappa Htheta Lam0 k0 (whole i) m m0); split; first by apply: Rdiv_lt_0_compat; lra.
  by apply: (Rmult_lt_reg_r (3 * INR #|P|)); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
have B2 : pr (draws D m) bad2 <= delta / 3.
  rewrite /bad2; have -> : 3 / delta = 1 / (delta / 3) by field; lra.
  by apply: (@score_level theta Lam kappa Htheta Lam0 k0 (whole best) m (delta / 3) m0); lra.
apply: (Rle_trans _ (ex (draws D m) (fun tr => (ind (bad1 tr) + ind (bad2 tr)) + (delta / 3 + ind (assumed tr) * fail tr)))); last first.
  by rewrite ex_add ex_add ex_add ex_const; rewrite -/(pr (draws D m) bad1) -/(pr (draws D m) bad2); lra.
apply: ex_le => tr; set A := pr (J tr) _.
have i0 b : 0 <= ind b by case: b => /=; lra.
case Hass: (assumed tr) => /=; last by have := i0 (bad1 tr); have := i0 (bad2 tr); lra.
rewrite !Rmult_1_l; have X := explored Hass.
have low := Rle_trans _ _ _ (pr_ge0 _ _) X.
case H1: (bad1 tr) => /=; first by have := pr_le1 (J tr) (fun w => geb (final_risk tr w - Rarm theta Lam (whole best)) (training_cost + regret tr)); rewrite -/A; have := i0 (bad2 tr); lra.
case H2: (bad2 tr) => /=; first by have := pr_le1 (J tr) (fun w => geb (final_risk tr w - Rarm theta Lam (whole best)) (training_cost + regret tr)); rewrite -/A; lra.
rewrite !Rplus_0_l; apply: Rle_trans X; apply: pr_sub => w /gebP l; apply/orP.
case: (boolP (P (sel tr w))) => [Ps|_]; last by left.
right; apply/gebP.
have n1 : supdev D (clip theta (a := whole (sel tr w)) (Lam := Lam)) tr < bound_3 theta Lam kappa m lv.
  apply: Rnot_le_lt => le; have : bad1 tr by apply/existsP; exists (sel tr w); rewrite Ps /=; apply/gebP.
  by rewrite H1.
have n2 : Varm theta Lam (a := whole best) tr < Rarm theta Lam (whole best) + dev theta Lam kappa m (3 / delta).
  by apply: Rnot_le_lt => le; have : bad2 tr by [apply/gebP]; rewrite H2.
have e : final_risk tr w - ex (unif x0) (@surr theta Lam kappa (train tr (sel tr w)) (model tr w))
    <= supdev D (clip theta (a := whole (sel tr w)) (Lam := Lam)) tr.
  rewrite train_emp; exact: (@error_dev theta Lam kappa Htheta Lam0 (whole (sel tr w)) m m0 tr (extend (Gpsd _) (model tr w))).
rewrite /train_regret (risk_score tr best); rewrite /training_cost -/lv in l.
move: n1 n2 e l; move: (supdev _ _ _) (Varm _ _ _) (ex _ _) (final_risk _ _) => v1 v2 v3 v4; lra.
Qed.
End Training.

(** * Theorems 1 and 2 of the paper, corrected *)
Section Theorems.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (Z I : finType) (D : fdist Z) (gram : I -> Z -> Z -> R) (y : Z -> R).
Hypotheses (Gpsd : forall i, psd (gram i)) (y1 : forall z, y z * y z = 1) (Gk : forall i z, gram i z z <= kappa * kappa).
Variables (m : nat) (x0 : 'I_m) (best : I) (P : pred I) (eps delta : R).
Hypotheses (Hd : 0 < delta < 1) (P0 : (0 < #|P|)%N) (eps0 : 0 <= eps).
Notation training := {ffun 'I_m -> Z}.
Notation whole i := (whole D Gpsd y1 Gk i).
Notation train tr i := (train Gpsd y1 Gk x0 tr i).
Notation risk tr i := (Rarm theta Lam (train tr i)).
Notation V := (Varm theta Lam).
Notation surr a := (@uniform_allocation.surr theta Lam kappa a).
(** S* of a training set, and P, a set of arms that holds S* for every training set of the event [assumed]: {best} if ties are
    excluded, all arms otherwise. [assumed] is any event on which the paper's assumption and identification condition
    hold, with a gap Delta that may depend on the training set. *)
Notation S tr := (median_elimination_arms.S theta Lam (fun i => train tr i) best).
Variables (assumed : pred training) (Delta : training -> R).
Definition conditions (tr : training) (n : nat) : Prop :=
  [/\ forall i, risk tr best <= risk tr i, 0 < Delta tr,
      forall i, i \notin S tr -> Delta tr <= risk tr i - risk tr best,
      launched theta Lam kappa (Delta tr) n & forall i, i \in S tr -> P i].
Variables (Omega : finType) (J : training -> fdist Omega) (sel : training -> Omega -> I).
Notation cost := (training_cost theta Lam kappa m P delta).

(** The feature of the best arm, its Bayes risk R_1* and the approximation error R_ap of its ball. *)
Variables (F : finType) (x : Z -> F) (k : F -> F -> R).
Hypothesis feature : gram best = feature_gram x k.
Notation bayes := (bayes_risk D x y theta).
Notation R_ap := (approximation_error D x y theta k Lam).
Lemma whole_best : Rarm theta Lam (whole best) = bayes + R_ap.
Proof.
rewrite /approximation_error -feature (_ : Rarm _ _ _ = popmin D (arm.L (K := gram best) y theta (Lam := Lam))) //; ring.
Qed.
Lemma dev_ge0 n level : 0 <= dev theta Lam kappa n level.
Proof. by apply: Rmult_le_pos; [have := M_pos Htheta Lam0 k0; lra | exact: sqrt_pos]. Qed.
Lemma c_term_ge0 n : 0 <= (2 - 2 * theta) / (1 - 2 * theta) * (arm.r Lam kappa / sqrt (INR n)).
Proof.
have Hr := r_pos Lam0 k0; apply: Rmult_le_pos.
  by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
apply: Rmult_le_pos; first lra.
case: (Req_dec (sqrt (INR n)) 0) => [->|ne]; first by rewrite Rinv_0; lra.
by apply: Rlt_le; apply: Rinv_0_lt_compat; have := sqrt_pos (INR n); lra.
Qed.
Lemma cost_ge0 : 0 <= cost.
Proof.
rewrite /training_cost /bound_3; have := c_term_ge0 m; have := dev_ge0 m (3 / delta).
have : 0 <= dev_1 m (3 * INR #|P| / delta) by exact: sqrt_pos.
lra.
Qed.

Section Uniform.
Variables (n : nat) (X : training -> I -> Omega -> {ffun 'I_n -> 'I_m})
  (learned : forall tr i, {ffun 'I_n -> 'I_m} -> ball (gram_of (train tr i)) Lam).
Hypotheses (n0 : (0 < n)%N)
  (HX : forall tr i f, ex (J tr) (fun w => f (X tr i w)) = ex (draws (unif x0) n) f)
  (Hs : forall tr w i, V (a := train tr (sel tr w)) (X tr (sel tr w) w) <= V (a := train tr i) (X tr i w))
  (Hl : forall tr i s, emp (surr (train tr i)) s (learned tr i s) <= V (a := train tr i) s + eps)
  (Hc : forall tr, assumed tr -> conditions tr n).
Definition uniform_model tr w : ball (gram_of (train tr (sel tr w))) Lam := learned tr (sel tr w) (X tr (sel tr w) w).
Definition bound_1 tr : R := cost + (regret_1 theta Lam kappa n (delta / 3) #|S tr| + eps).
Definition fail_1 tr : R := INR #|~: S tr| * (2 * q4 theta Lam kappa (Delta tr) n).

(** thm-1 corrected: on the event [assumed] the excess risk exceeds the bound with probability at most delta plus the mean of the
    failure probability. *)
Theorem theorem_1_paper :
  ex (draws D m) (fun tr => ind (assumed tr) *
    pr (J tr) (fun w => geb (final_risk theta D uniform_model tr w - bayes) (bound_1 tr + R_ap))) <=
  delta + ex (draws D m) (fun tr => ind (assumed tr) * fail_1 tr).
Proof.
apply: (Rle_trans _ (ex (draws D m) (fun tr => ind (assumed tr) *
    pr (J tr) (fun w => geb (final_risk theta D uniform_model tr w - Rarm theta Lam (whole best)) (bound_1 tr))))).
  apply: ex_le => tr; apply: Rmult_le_compat_l; first by rewrite /ind; case: ifP; lra.
  by apply: pr_sub => w /gebP l; apply/gebP; rewrite whole_best; lra.
apply: (@excess_risk theta Lam kappa Htheta Lam0 k0 Z I D gram y Gpsd y1 Gk m x0 Omega J sel uniform_model best P assumed
   (fun tr => regret_1 theta Lam kappa n (delta / 3) #|S tr| + eps) fail_1 delta Hd P0) => tr /Hc [Hb D0 Hg Hn HP].
have Hd3 : 0 < delta / 3 < 1 by lra.
have H := @rival_or_regret theta Lam kappa Htheta Lam0 k0 I (fun i => train tr i) n Omega (J tr) (X tr) (sel tr) eps (delta / 3)
   (learned tr) n0 (HX tr) Hd3 (@Hl tr) best (Hs tr).
have L1 := @lemma_1_i theta Lam kappa Htheta Lam0 k0 I (fun i => train tr i) best n Omega (J tr) (X tr) (sel tr) (Delta tr)
   n0 (HX tr) (Hs tr) _ D0 Hn.
apply: (Rle_trans _ _ _ _ (Rle_trans _ _ _ H _)).
  apply: pr_sub => w /orP [nP|l]; apply/orP; last by right.
  by left; apply: contra nP => /HP.
apply: Rplus_le_compat_l.
have eS i : (i \notin S tr) = ~~ geb (risk tr best) (risk tr i) by rewrite inE.
apply: (Rle_trans _ (pr (J tr) (fun w => ~~ geb (risk tr best) (risk tr (sel tr w))))).
  by apply: pr_sub => w; rewrite eS.
apply: Rle_trans (L1 _) _; first by move=> i; rewrite -eS; exact: Hg.
by apply: Req_le; rewrite /fail_1 /q4; congr (INR _ * _); apply: eq_card => i; rewrite !inE.
Qed.
(** If R_1* >= theta/(3 - 2 theta) or kappa Lambda <= 2 - 2 theta, the bound on the excess risk is at least theta - R_1*, the
    excess risk of the model that rejects every row, whatever the budget is. *)
Theorem theorem_1_empty tr : theta / (3 - 2 * theta) <= bayes \/ kappa * Lam <= 2 - 2 * theta ->
  theta - bayes <= bound_1 tr + R_ap.
Proof.
move=> H; have Kp : psd (feature_gram x k) by rewrite -feature.
have Kd z : feature_gram x k z z <= kappa * kappa by rewrite -feature.
have E := r_ap_trivial y1 Htheta Kp Kd (Rlt_le _ _ Lam0) (Rlt_le _ _ k0) H.
have := cost_ge0; have := c_term_ge0 n; have := dev_ge0 n (2 * INR #|S tr| / (delta / 3)); have := dev_ge0 n (2 / (delta / 3)).
by rewrite /bound_1 /regret_1; lra.
Qed.
End Uniform.

Section Median.
Variables (B : nat) (keep : (I -> R) -> {set I} -> {set I}).
Notation T := (median_elimination_arms.T I).
Notation rows_0 := (median_elimination_arms.n I B 0).
Notation N := (median_elimination_arms.N I B).
Hypotheses (keep_sub : forall v A, keep v A \subset A)
           (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j).
Variables (X : training -> forall t, I -> Omega -> {ffun 'I_(N t) -> 'I_m})
  (learned : forall tr i, {ffun 'I_(N T.-1) -> 'I_m} -> ball (gram_of (train tr i)) Lam).
Hypotheses
  (HX : forall tr t i f, (t < T)%N -> ex (J tr) (fun w => f (X tr t i w)) = ex (draws (unif x0) (N t)) f)
  (Hs : forall tr w, sel tr w \in alive keep (fun t w i => V (a := train tr i) (X tr t i w)) T w)
  (Hl : forall tr i s, emp (surr (train tr i)) s (learned tr i s) <= V (a := train tr i) s + eps)
  (Hc : forall tr, assumed tr -> conditions tr rows_0).
Definition median_model tr w : ball (gram_of (train tr (sel tr w))) Lam := learned tr (sel tr w) (X tr T.-1 (sel tr w) w).
Definition bound_2 tr : R := cost + (regret_2 theta Lam kappa (N T.-1) (delta / 3) #|S tr| + eps).
Definition fail_2 tr : R :=
  \rsum_(t : 'I_T) (INR (#|S tr| * #|~: S tr|) * (2 * q4 theta Lam kappa (Delta tr) (N t)) / INR (uphalf (alive_count I t))).

(** thm-2 corrected: median elimination with accumulated rows. *)
Theorem theorem_2_paper :
  ex (draws D m) (fun tr => ind (assumed tr) *
    pr (J tr) (fun w => geb (final_risk theta D median_model tr w - bayes) (bound_2 tr + R_ap))) <=
  delta + ex (draws D m) (fun tr => ind (assumed tr) * fail_2 tr).
Proof.
apply: (Rle_trans _ (ex (draws D m) (fun tr => ind (assumed tr) *
    pr (J tr) (fun w => geb (final_risk theta D median_model tr w - Rarm theta Lam (whole best)) (bound_2 tr))))).
  apply: ex_le => tr; apply: Rmult_le_compat_l; first by rewrite /ind; case: ifP; lra.
  by apply: pr_sub => w /gebP l; apply/gebP; rewrite whole_best; lra.
apply: (@excess_risk theta Lam kappa Htheta Lam0 k0 Z I D gram y Gpsd y1 Gk m x0 Omega J sel median_model best P assumed
   (fun tr => regret_2 theta Lam kappa (N T.-1) (delta / 3) #|S tr| + eps) fail_2 delta Hd P0) => tr /Hc [Hb D0 Hg Hn HP].
have Hd3 : 0 < delta / 3 < 1 by lra.
have H := @lost_or_regret theta Lam kappa Htheta Lam0 k0 I (fun i => train tr i) best (Delta tr) B Hb D0 Hg keep keep_sub keep_card
   keep_small Hn Omega (J tr) (X tr) (sel tr) eps (delta / 3) (learned tr) (HX tr) (Hs tr) Hd3 (@Hl tr).
apply: Rle_trans H; apply: pr_sub => w /orP [nP|l]; apply/orP; last by right.
by left; apply: contra nP => /HP.
Qed.
(** If R_1* >= theta/(3 - 2 theta) or kappa Lambda <= 2 - 2 theta, the bound on the excess risk is at least theta - R_1*, the
    excess risk of the model that rejects every row, whatever the budget is. *)
Theorem theorem_2_empty tr : theta / (3 - 2 * theta) <= bayes \/ kappa * Lam <= 2 - 2 * theta ->
  theta - bayes <= bound_2 tr + R_ap.
Proof.
move=> H; have Kp : psd (feature_gram x k) by rewrite -feature.
have Kd z : feature_gram x k z z <= kappa * kappa by rewrite -feature.
have E := r_ap_trivial y1 Htheta Kp Kd (Rlt_le _ _ Lam0) (Rlt_le _ _ k0) H.
pose n := median_elimination_arms.N I B (median_elimination_arms.T I).-1.
have := cost_ge0; have := c_term_ge0 n; have := dev_ge0 n (2 * INR #|S tr| / (delta / 3)).
by rewrite /bound_2 /regret_2 -/n; lra.
Qed.
End Median.

End Theorems.
