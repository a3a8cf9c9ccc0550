(** The Bayes risk of a feature on a finite distribution, Lemma F of docs/theorems.md (minimum) for a distribution of the
    rows, and the theorem that the paper's excess risk bounds say nothing if R_1* >= theta/(3 - 2 theta) or
    kappa Lambda <= 2 - 2 theta. A row z has the label y z and the value x z of the feature; an error is y h <= 0. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm calibration affine registry.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * One value of the feature, with the masses p of y = 1 and q of y = -1 *)
Definition least (theta p q : R) : R := Rmin (Rmin p q) (theta * (p + q)).
Definition mass_0_1 theta p q h g : R := p * loss_0_1 theta h g 1 + q * loss_0_1 theta h g (-1).
Definition mass_loss theta p q h g : R := p * loss theta (1 * h) g + q * loss theta (-1 * h) g.

Lemma min_scale c u v : 0 <= c -> c * Rmin u v = Rmin (c * u) (c * v).
Proof.
move=> c0; case: (Rle_dec u v) => [le|/Rnot_le_gt gt].
- by rewrite !Rmin_left //; exact: Rmult_le_compat_l.
- by rewrite !Rmin_right //; [apply: Rmult_le_compat_l; lra | lra].
Qed.
Lemma leastP theta p q : least theta p q <= p /\ least theta p q <= q /\ least theta p q <= theta * (p + q).
Proof.
have := Rmin_l (Rmin p q) (theta * (p + q)); have := Rmin_r (Rmin p q) (theta * (p + q)).
by have := Rmin_l p q; have := Rmin_r p q; rewrite /least; lra.
Qed.
Lemma least_cases theta p q : least theta p q = p \/ least theta p q = q \/ least theta p q = theta * (p + q).
Proof.
have M u v : Rmin u v = u \/ Rmin u v = v by rewrite /Rmin; case: Rle_dec; auto.
by rewrite /least; case: (M (Rmin p q) (theta * (p + q))) => ->; [case: (M p q) => ->|]; auto.
Qed.

Lemma mass_0_1_low theta p q h g : 0 < theta < / 2 -> 0 <= p -> 0 <= q -> least theta p q <= mass_0_1 theta p q h g.
Proof.
move=> Ht p0 q0; have [A [B C]] := leastP theta p q; rewrite /mass_0_1 /loss_0_1.
by case: Rle_dec => ?; [lra | do 2 case: Rle_dec => ?; lra].
Qed.
Lemma mass_0_1_attained theta p q : exists h g, mass_0_1 theta p q h g = least theta p q.
Proof.
rewrite /mass_0_1 /loss_0_1; case: (least_cases theta p q) => [->|[->|->]].
- by exists (-1), 1; case: Rle_dec => ?; [lra | do 2 case: Rle_dec => ?; lra].
- by exists 1, 1; case: Rle_dec => ?; [lra | do 2 case: Rle_dec => ?; lra].
- by exists 0, 0; case: Rle_dec => ?; lra.
Qed.

(** eq-1 corrected *)
Theorem eq_1 theta h g : 0 < theta < / 2 -> theta <= / 2 * loss_0_1 theta h g 1 + / 2 * loss_0_1 theta h g (-1).
Proof.
move=> Ht; have := @mass_0_1_low theta (/ 2) (/ 2) h g Ht ltac:(lra) ltac:(lra).
by rewrite /mass_0_1 /least (Rmin_left (/ 2) (/ 2)) ?Rmin_right; lra.
Qed.
(** eq-1-rejection-rule corrected: the loss is theta exactly where the rule g <= 0 rejects. *)
Theorem eq_1_rejection_rule theta h g y : 0 < theta < 1 -> loss_0_1 theta h g y = theta <-> g <= 0.
Proof. by move=> Ht; rewrite /loss_0_1; case: Rle_dec => ?; [|case: Rle_dec => ?]; split; lra. Qed.

Lemma mass_swap theta p q h g : mass_loss theta p q h g = mass_loss theta q p (- h) g.
Proof.
have e1 : 1 * - h = -1 * h by ring.
have e2 : -1 * - h = 1 * h by ring.
rewrite /mass_loss e1 e2; ring.
Qed.
Lemma mass_loss_half theta p q h g : 0 < theta < / 2 -> 0 <= p <= q -> (3 - 2 * theta) * least theta p q <= mass_loss theta p q h g.
Proof.
move=> Ht pq; case: (Req_dec (p + q) 0) => [s0|s0].
  have [A [B C]] := leastP theta p q; have p0 : p = 0 by lra.
  have q0 : q = 0 by lra.
  by rewrite /mass_loss p0 q0 /least Rmin_left ?Rmin_left; lra.
have s : 0 < p + q by lra.
have E : 0 <= p / (p + q) <= / 2.
  split; first by apply: Rmult_le_pos; [lra | apply: Rlt_le; exact: Rinv_0_lt_compat].
  by apply: (Rmult_le_reg_r (p + q)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
have := minimum theta (p / (p + q)) h g Ht E => m.
have := Rmult_le_compat_l (p + q) _ _ ltac:(lra) m.
have -> : (p + q) * calibration.risk theta (p / (p + q)) h g = mass_loss theta p q h g.
  have e1 : 1 * h = h by ring.
  have e2 : -1 * h = - h by ring.
  rewrite /mass_loss /calibration.risk e1 e2; field; lra.
apply: Rle_trans; rewrite -Rmult_assoc (Rmult_comm (p + q)) Rmult_assoc; apply: Rmult_le_compat_l; first lra.
rewrite /bayes /least (Rmin_left p q); last lra.
rewrite min_scale; last lra.
have -> : (p + q) * (p / (p + q)) = p by field; lra.
by rewrite (Rmult_comm theta); lra.
Qed.
Theorem mass_loss_low theta p q h g : 0 < theta < / 2 -> 0 <= p -> 0 <= q ->
  (3 - 2 * theta) * least theta p q <= mass_loss theta p q h g.
Proof.
move=> Ht p0 q0; case: (Rle_dec p q) => [le|/Rnot_le_gt gt]; first exact: mass_loss_half.
have E : least theta p q = least theta q p by rewrite /least (Rmin_comm p q) (Rplus_comm p q).
by rewrite E mass_swap; apply: mass_loss_half => //; lra.
Qed.
Lemma mass_loss_attained theta p q : 0 < theta < / 2 -> exists h g, mass_loss theta p q h g = (3 - 2 * theta) * least theta p q.
Proof.
move=> Ht.
have L1 : loss theta (- (3 - 2 * theta)) (1 - 2 * theta) = 3 - 2 * theta.
  by have := attained_rare theta 1 Ht; rewrite /calibration.risk; lra.
have L0 : loss theta (3 - 2 * theta) (1 - 2 * theta) = 0.
  by have := attained_rare theta 0 Ht; rewrite /calibration.risk Ropp_involutive; lra.
have Lm : loss theta 0 (- (2 * (1 - theta) * (1 - 2 * theta))) = (3 - 2 * theta) * theta.
  by have := attained_middle theta 1 Ht; rewrite /calibration.risk; lra.
rewrite /mass_loss; case: (least_cases theta p q) => [->|[->|->]].
- exists (- (3 - 2 * theta)), (1 - 2 * theta).
  have e1 : 1 * - (3 - 2 * theta) = - (3 - 2 * theta) by ring.
  have e2 : -1 * - (3 - 2 * theta) = 3 - 2 * theta by ring.
  rewrite e1 e2 L1 L0; ring.
- exists (3 - 2 * theta), (1 - 2 * theta).
  have e1 : 1 * (3 - 2 * theta) = 3 - 2 * theta by ring.
  have e2 : -1 * (3 - 2 * theta) = - (3 - 2 * theta) by ring.
  rewrite e1 e2 L1 L0; ring.
- exists 0, (- (2 * (1 - theta) * (1 - 2 * theta))).
  by rewrite !Rmult_0_r Lm; ring.
Qed.

(** * A distribution of rows *)
Section Feature.
Variables (Z X : finType) (D : fdist Z) (x : Z -> X) (y : Z -> R) (theta : R).
Hypotheses (y1 : forall z, y z * y z = 1) (Htheta : 0 < theta < / 2).
Definition mass_pos (v : X) : R := ex D (fun z => ind (x z == v) * ((1 + y z) / 2)).
Definition mass_neg (v : X) : R := ex D (fun z => ind (x z == v) * ((1 - y z) / 2)).
(** E min(eta, 1 - eta, theta). *)
Definition bayes_risk : R := \rsum_v least theta (mass_pos v) (mass_neg v).

Lemma label_cases z : y z = 1 \/ y z = -1.
Proof. by have := y1 z => e; case: (Rle_dec 0 (y z)) => ?; [left | right]; nra. Qed.
Lemma mass_pos_ge0 v : 0 <= mass_pos v.
Proof.
apply: ex_ge0 => z; apply: Rmult_le_pos; first by rewrite /ind; case: ifP; lra.
by case: (label_cases z) => ->; lra.
Qed.
Lemma mass_neg_ge0 v : 0 <= mass_neg v.
Proof.
apply: ex_ge0 => z; apply: Rmult_le_pos; first by rewrite /ind; case: ifP; lra.
by case: (label_cases z) => ->; lra.
Qed.
Lemma ex_by_value (F : X -> R -> R) :
  ex D (fun z => F (x z) (y z)) = \rsum_v (mass_pos v * F v 1 + mass_neg v * F v (-1)).
Proof.
rewrite (ex_ext (fun z => \rsum_v (ind (x z == v) * ((1 + y z) / 2) * F v 1 + ind (x z == v) * ((1 - y z) / 2) * F v (-1)))).
  rewrite ex_rsum; apply: eq_bigr => v _.
  by rewrite ex_add !ex_mulr.
move=> z; rewrite (bigD1 (x z)) //= big1 => [|v ne]; last by rewrite eq_sym (negbTE ne) /=; ring.
by rewrite eqxx /ind; case: (label_cases z) => ->; field.
Qed.
Lemma least_ge0 v : 0 <= least theta (mass_pos v) (mass_neg v).
Proof.
by have p := mass_pos_ge0 v; have q := mass_neg_ge0 v; case: (least_cases theta (mass_pos v) (mass_neg v)) => [->|[->|->]] //;
  apply: Rmult_le_pos; lra.
Qed.
Lemma bayes_risk_ge0 : 0 <= bayes_risk. Proof. by apply: rsum_ge0 => v _; exact: least_ge0. Qed.
Lemma mass_total : \rsum_v (mass_pos v + mass_neg v) = 1.
Proof.
rewrite -(ex_const D 1) (ex_by_value (fun _ _ => 1)); apply: eq_bigr => v _; ring.
Qed.
Lemma bayes_risk_theta : bayes_risk <= theta.
Proof.
apply: (Rle_trans _ (\rsum_v (theta * (mass_pos v + mass_neg v)))); first by apply: rsum_le => v _; have := leastP theta (mass_pos v) (mass_neg v); lra.
by rewrite -rsum_mull mass_total; lra.
Qed.

(** Pairs (h, g) of arbitrary functions of the feature. *)
Notation pair := ((X -> R) * (X -> R))%type.
Definition risk_0_1 (f : pair) : R := ex D (fun z => loss_0_1 theta (f.1 (x z)) (f.2 (x z)) (y z)).
Definition risk_loss (f : pair) : R := ex D (fun z => loss theta (y z * f.1 (x z)) (f.2 (x z))).
Lemma risk_0_1_mass f : risk_0_1 f = \rsum_v mass_0_1 theta (mass_pos v) (mass_neg v) (f.1 v) (f.2 v).
Proof. exact: (ex_by_value (fun v u => loss_0_1 theta (f.1 v) (f.2 v) u)). Qed.
Lemma risk_loss_mass f : risk_loss f = \rsum_v mass_loss theta (mass_pos v) (mass_neg v) (f.1 v) (f.2 v).
Proof. exact: (ex_by_value (fun v u => loss theta (u * f.1 v) (f.2 v))). Qed.

(** Functions that attain a bound at every value of the feature. *)
Lemma attained (F : R -> R -> R -> R -> R) (target : R -> R -> R) :
  (forall p q, exists h g, F p q h g = target p q) ->
  exists f : pair, \rsum_v F (mass_pos v) (mass_neg v) (f.1 v) (f.2 v) = \rsum_v target (mass_pos v) (mass_neg v).
Proof.
move=> H; suff : forall l : seq X, exists f : pair, forall v, v \in l -> F (mass_pos v) (mass_neg v) (f.1 v) (f.2 v) = target (mass_pos v) (mass_neg v).
  by move=> /(_ (enum X)) [f Hf]; exists f; apply: eq_bigr => v _; apply: Hf; rewrite mem_enum.
elim=> [|v l [f Hf]]; first by exists ((fun _ => 0), (fun _ => 0)).
have [h [g E]] := H (mass_pos v) (mass_neg v).
exists (fun u => if u == v then h else f.1 u, fun u => if u == v then g else f.2 u) => u /=.
by rewrite inE; case: eqP => [->|_] //= /Hf.
Qed.

(** eq-4-value corrected: the Bayes risk R_i* of the repaired loss. *)
Theorem bayes_value : inf risk_0_1 = bayes_risk /\ exists f, risk_0_1 f = bayes_risk.
Proof.
have [f Ef] := attained (mass_0_1_attained theta); rewrite -risk_0_1_mass -/bayes_risk in Ef.
split; last by exists f.
apply: (inf_unique (w := f)) => // f'; rewrite risk_0_1_mass; apply: rsum_le => v _.
by apply: mass_0_1_low => //; [exact: mass_pos_ge0 | exact: mass_neg_ge0].
Qed.

(** surrogate-does-no-harm corrected: the best surrogate risk is (3 - 2 theta) times the Bayes risk. *)
Theorem surrogate_value : inf risk_loss = (3 - 2 * theta) * bayes_risk /\ exists f, risk_loss f = (3 - 2 * theta) * bayes_risk.
Proof.
have [f Ef] := attained (F := fun p q h g => mass_loss theta p q h g) (target := fun p q => (3 - 2 * theta) * least theta p q)
   (fun p q => mass_loss_attained p q Htheta).
rewrite -risk_loss_mass -rsum_mull -/bayes_risk in Ef.
split; last by exists f.
apply: (inf_unique (w := f)) => // f'; rewrite risk_loss_mass /bayes_risk rsum_mull; apply: rsum_le => v _.
by apply: mass_loss_low => //; [exact: mass_pos_ge0 | exact: mass_neg_ge0].
Qed.
Lemma risk_loss_low f : (3 - 2 * theta) * bayes_risk <= risk_loss f.
Proof.
rewrite risk_loss_mass /bayes_risk rsum_mull; apply: rsum_le => v _.
by apply: mass_loss_low => //; [exact: mass_pos_ge0 | exact: mass_neg_ge0].
Qed.

(** eq-4 corrected: a feature that determines the label has Bayes risk 0, one that is independent of it
    min(pi, 1 - pi, theta) with pi = P(y = 1). *)
Theorem eq_4_determined : (forall z z', x z = x z' -> y z = y z') -> bayes_risk = 0.
Proof.
move=> det; apply: rsum_eq0 => v; apply: Rle_antisym; last exact: least_ge0.
have [A [B _]] := leastP theta (mass_pos v) (mass_neg v).
case: (pickP (fun z => x z == v)) => [z0 /eqP e0|none].
  case: (label_cases z0) => ly.
  - suff : mass_neg v = 0 by lra.
    apply: rsum_eq0 => z; case: eqP => [e|_] /=; last by ring.
    by rewrite (det z z0) ?ly; [field | rewrite e e0].
  - suff : mass_pos v = 0 by lra.
    apply: rsum_eq0 => z; case: eqP => [e|_] /=; last by ring.
    by rewrite (det z z0) ?ly; [field | rewrite e e0].
suff : mass_neg v = 0 by lra.
by apply: rsum_eq0 => z; rewrite none /=; ring.
Qed.
Theorem eq_4_independent prior : (forall v, mass_pos v = prior * (mass_pos v + mass_neg v)) ->
  bayes_risk = Rmin (Rmin prior (1 - prior)) theta.
Proof.
move=> indep; rewrite -[RHS]Rmult_1_l -[X in _ = X * _]mass_total rsum_mulr; apply: eq_bigr => v _.
have p := mass_pos_ge0 v; have q := mass_neg_ge0 v; have := indep v; set s := mass_pos v + mass_neg v => e.
have s0 : 0 <= s by rewrite /s; lra.
rewrite !min_scale // /least -/s (Rmult_comm theta); congr (Rmin (Rmin _ _) _).
- by rewrite e Rmult_comm.
- have en : mass_neg v = s - mass_pos v by rewrite /s; ring.
  by rewrite en e; ring.
Qed.

(** * The approximation error of a kernel ball, and empty bounds *)
Variables (k : X -> X -> R) (Lam kappa : R).
Definition feature_gram (z z' : Z) : R := k (x z) (x z').
Hypotheses (Kpsd : psd feature_gram) (Kk : forall z, feature_gram z z <= kappa * kappa) (Lam0 : 0 <= Lam) (k0 : 0 <= kappa).
Notation L := (L (K := feature_gram) y theta (Lam := Lam)).
Definition approximation_error : R := popmin D L - bayes_risk.

Lemma model_value (w : Z -> R) z : dot feature_gram w (feat z) = \rsum_z' (w z' * k (x z') (x z)).
Proof.
rewrite /dot; apply: eq_bigr => z' _; rewrite (bigD1 z) //= big1 => [|z2 ne]; last by rewrite /feat (negbTE ne) /=; ring.
by rewrite /feat eqxx /= /feature_gram; ring.
Qed.
Lemma ball_low f : (3 - 2 * theta) * bayes_risk <= ex D (L f).
Proof.
have H := risk_loss_low ((fun v => \rsum_z' ((sval f).1 z' * k (x z') v)), (fun v => \rsum_z' ((sval f).2 z' * k (x z') v))).
by apply: Rle_trans H _; apply: Req_le; apply: ex_ext => z; rewrite /arm.L /h /g !model_value.
Qed.

(** r-ap: R_ap is at least (2 - 2 theta) R_1*. *)
Theorem r_ap : (2 - 2 * theta) * bayes_risk <= approximation_error.
Proof.
have := inf_ge (ball0 feature_gram Lam0) ball_low; rewrite /approximation_error /popmin; lra.
Qed.

(** r-ap-classical: if a model of the ball has the smallest surrogate risk of all functions, R_ap is (2 - 2 theta) R_1*. *)
Theorem r_ap_classical : (exists f : ball feature_gram Lam, ex D (L f) = (3 - 2 * theta) * bayes_risk) ->
  approximation_error = (2 - 2 * theta) * bayes_risk.
Proof.
case=> f Ef; have up : popmin D L <= ex D (L f).
  by apply: (inf_le (ball0 feature_gram Lam0)); apply: bnd_pop => z; apply: L_bnd; eauto.
by have := r_ap; rewrite /approximation_error; rewrite Ef in up; lra.
Qed.

(** r-ap-trivial: R_ap alone is at least the excess risk theta - R_1* of the model that rejects every row. *)
Theorem r_ap_trivial : theta / (3 - 2 * theta) <= bayes_risk \/ kappa * Lam <= 2 - 2 * theta ->
  theta - bayes_risk <= approximation_error.
Proof.
case=> [large|small].
  have := r_ap; have := Rmult_le_compat_r (3 - 2 * theta) _ _ ltac:(lra) large.
  by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
suff : theta <= popmin D L by rewrite /approximation_error; lra.
apply: (inf_ge (ball0 feature_gram Lam0)) => f.
rewrite -[X in X <= _](ex_const D); apply: ex_le => z.
have [low _] := L_range Kpsd y1 Kk Htheta k0 f z; apply: Rle_trans low.
apply: (Rle_trans _ (theta * (3 - 2 * theta - arm.r Lam kappa))); first by rewrite /arm.r; nra.
by rewrite /loss_low; apply: (Rle_trans _ (Rmax (1 - arm.r Lam kappa) (theta * (3 - 2 * theta - arm.r Lam kappa)))); [exact: Rmax_r | exact: Rmax_l].
Qed.
(** The model that rejects every row has the 0-1 risk theta. *)
Theorem reject_all : risk_0_1 ((fun _ => 0), (fun _ => -1)) = theta.
Proof.
rewrite /risk_0_1 -[RHS](ex_const D); apply: ex_ext => z /=.
by rewrite /loss_0_1; case: Rle_dec => ?; lra.
Qed.
End Feature.

(** A feature that determines another one has no larger Bayes risk; features that determine each other have the same. *)
Section Comparison.
Variables (Z X X' : finType) (D : fdist Z) (x : Z -> X) (x' : Z -> X') (y : Z -> R) (theta : R).
Hypotheses (y1 : forall z, y z * y z = 1) (Htheta : 0 < theta < / 2).
Theorem bayes_monotone (phi : X -> X') : (forall z, x' z = phi (x z)) -> bayes_risk D x y theta <= bayes_risk D x' y theta.
Proof.
move=> E; have [_ [f <-]] := bayes_value D x' y1 Htheta.
have -> : risk_0_1 D x' y theta f = risk_0_1 D x y theta (fun v => f.1 (phi v), fun v => f.2 (phi v)).
  by apply: ex_ext => z /=; rewrite E.
rewrite risk_0_1_mass //; apply: rsum_le => v _.
apply: mass_0_1_low; [exact: Htheta | |].
- eapply mass_pos_ge0; eassumption.
- eapply mass_neg_ge0; eassumption.
Qed.
End Comparison.
Theorem bayes_invariant (Z X X' : finType) (D : fdist Z) (x : Z -> X) (x' : Z -> X') (y : Z -> R) theta phi psi :
  (forall z, y z * y z = 1) -> 0 < theta < / 2 -> (forall z, x' z = phi (x z)) -> (forall z, x z = psi (x' z)) ->
  bayes_risk D x y theta = bayes_risk D x' y theta.
Proof. by move=> y1 Ht E E'; apply: Rle_antisym; [exact: (bayes_monotone D y1 Ht E) | exact: (bayes_monotone D y1 Ht E')]. Qed.
