(** Jeffreys' distribution Beta(1/2, 1/2), restricted to [0, bound], as mixing distribution of Theorem C6. Its density is proportional
    to 1/sqrt(q (1 - q)). With q = sin^2 x the angle x is uniform on [0, asin(sqrt bound)]; [substitution] is this change of
    variable. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq fintype.
From Coquelicot Require Import Coquelicot.
From Exml Require Import finite_probability sequential.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section CutOff.
Variable bound : R.
Hypothesis Hb : 0 < bound < 1.
Definition angle : R := asin (sqrt bound).
Definition power (s f : nat) (x : R) : R := (sin x ^ 2) ^ s * (cos x ^ 2) ^ f.
Definition cut_moment (s f : nat) : R := RInt (power s f) 0 angle / angle.

Lemma root_range : 0 < sqrt bound < 1.
Proof. by split; [apply: sqrt_lt_R0; lra | rewrite -sqrt_1; apply: sqrt_lt_1; lra]. Qed.
Lemma sin_angle : sin angle = sqrt bound.
Proof. by have := root_range => ?; apply: sin_asin; lra. Qed.
Lemma angle_range : 0 < angle <= PI / 2.
Proof.
have [l u] := asin_bound (sqrt bound); have r := root_range; split; last by rewrite /angle; lra.
apply: Rnot_le_lt => le; have := sin_ge_0 (- angle); rewrite sin_neg sin_angle; have := PI_RGT_0; rewrite -/angle in l; lra.
Qed.
Lemma sin_below x : 0 < x < angle -> sin x ^ 2 <= bound.
Proof.
move=> Hx; have [a0 a1] := angle_range; have P := PI_RGT_0.
have s0 : 0 <= sin x by apply: sin_ge_0; lra.
have le : sin x <= sqrt bound by rewrite -sin_angle; apply: sin_incr_1; lra.
rewrite -[X in _ <= X](sqrt_sqrt bound); last lra.
by rewrite /= Rmult_1_r; apply: Rmult_le_compat.
Qed.
Lemma power_ge0 s f x : 0 <= power s f x.
Proof. by apply: Rmult_le_pos; apply: pow_le; exact: pow2_ge_0. Qed.
Lemma power_split s f x : power s f x = power s.+1 f x + power s f.+1 x.
Proof.
rewrite /power; have : sin x ^ 2 + cos x ^ 2 = 1 by have := sin2_cos2 x; rewrite /Rsqr => <-; ring.
move: (sin x ^ 2) (cos x ^ 2) => u v e; rewrite -[u ^ s.+1]/(u * u ^ s) -[v ^ f.+1]/(v * v ^ f).
by rewrite -[LHS]Rmult_1_l -e; ring.
Qed.
Lemma power_continuous s f x : continuous (power s f) x.
Proof. by apply: ex_derive_continuous; rewrite /power; auto_derive. Qed.
Lemma power_integrable s f a c : ex_RInt (power s f) a c.
Proof. by apply: ex_RInt_continuous => x _; exact: power_continuous. Qed.
Lemma inverse_angle : 0 <= / angle. Proof. by apply: Rlt_le; apply: Rinv_0_lt_compat; case: angle_range. Qed.

Lemma cut_moment_ge0 s f : 0 <= cut_moment s f.
Proof.
apply: Rmult_le_pos; last exact: inverse_angle.
by apply: RInt_ge_0 => [|//|x _]; [case: angle_range; lra | exact: power_integrable | exact: power_ge0].
Qed.
Lemma cut_moment_split s f : cut_moment s f = cut_moment s.+1 f + cut_moment s f.+1.
Proof.
rewrite /cut_moment -Rdiv_plus_distr; congr (_ / _).
have := RInt_plus _ _ _ _ (power_integrable s.+1 f 0 angle) (power_integrable s f.+1 0 angle); rewrite /plus /= => <-.
by apply: RInt_ext => x _; exact: power_split.
Qed.
Lemma cut_moment_start : cut_moment 0 0 = 1.
Proof.
have [a0 _] := angle_range; rewrite /cut_moment (RInt_ext _ (fun _ => 1)) => [|x _]; last by rewrite /power /=; ring.
by rewrite RInt_const /scal /= /mult /=; field; lra.
Qed.
Lemma cut_moment_below s f : cut_moment s.+1 f <= bound * cut_moment s f.
Proof.
rewrite /cut_moment /Rdiv -Rmult_assoc; apply: Rmult_le_compat_r; first exact: inverse_angle.
have := RInt_scal _ _ _ bound (power_integrable s f 0 angle); rewrite /scal /= /mult /= => <-.
apply: RInt_le => [|||x Hx]; first by case: angle_range; lra.
- exact: power_integrable.
- by apply: (ex_RInt_scal (power s f)); exact: power_integrable.
have := Rmult_le_compat_r _ _ _ (power_ge0 s f x) (sin_below Hx).
by rewrite {1 3}/power -![_ ^ s.+1]/(_ * _ ^ s) Rmult_assoc.
Qed.

(** Theorem C6 with the mixture of the code. *)
Theorem jeffreys_certificate (T : finType) (next : seq T -> fdist T) (fails : T -> bool) alpha N : 0 < alpha ->
  (forall past, bound <= pr (next past) fails) ->
  path_ex next N [::] (fun path => ind (reaches (evidence fails cut_moment bound) (/ alpha) N [::] path)) <= alpha.
Proof.
by move=> a0 Hp; apply: (certificate cut_moment_ge0 cut_moment_split cut_moment_start N Hb a0 cut_moment_below Hp).
Qed.
End CutOff.

(** q = sin^2 x: the integral of h against 1/(2 sqrt(q (1 - q))) is the integral of h(sin^2 x). *)
Theorem substitution (h : R -> R) a c : 0 < a <= c -> c < PI / 2 -> (forall q, continuous h q) ->
  RInt (fun q => h q / (2 * sqrt (q * (1 - q)))) (sin a ^ 2) (sin c ^ 2) = RInt (fun x => h (sin x ^ 2)) a c.
Proof.
move=> ac cp Hh; have P := PI_RGT_0.
have inside x : Rmin a c <= x <= Rmax a c -> 0 < sin x /\ 0 < cos x.
  by rewrite Rmin_left ?Rmax_right; try lra; move=> ?; split; [apply: sin_gt_0 | apply: cos_gt_0]; lra.
have root x : 0 < sin x -> 0 < cos x -> sqrt (sin x ^ 2 * (1 - sin x ^ 2)) = sin x * cos x.
  move=> s0 c0; rewrite (_ : _ * _ = (sin x * cos x) * (sin x * cos x)); last by have := sin2_cos2 x; rewrite /Rsqr => <-; ring.
  by rewrite sqrt_square //; apply: Rmult_le_pos; lra.
rewrite -(RInt_comp (fun q => h q / (2 * sqrt (q * (1 - q)))) (fun x => sin x ^ 2) (fun x => 2 * sin x * cos x)).
- apply: RInt_ext => x Hx; have [s0 c0] := inside x ltac:(lra).
  by rewrite /scal /= /mult /= -[sin x * (sin x * 1)]/(sin x ^ 2) root //; field; lra.
- move=> x Hx; have [s0 c0] := inside x Hx; have root0 := root x s0 c0.
  have pos : 0 < sin x ^ 2 * (1 - sin x ^ 2).
    by apply: Rnot_le_lt => le; have := sqrt_neg_0 _ le; rewrite root0; have := Rmult_lt_0_compat _ _ s0 c0; lra.
  apply: (continuous_mult h (fun q => / (2 * sqrt (q * (1 - q))))); first exact: Hh.
  apply: continuous_Rinv_comp; last by rewrite root0; have := Rmult_lt_0_compat _ _ s0 c0; lra.
  by apply: ex_derive_continuous; auto_derive.
- move=> x _; split; first by auto_derive => //; ring.
  by apply: ex_derive_continuous; auto_derive.
Qed.
