(** The affine regime kappa Lambda <= 1 - 2 theta (Lemma D of docs/theorems.md: closed form of the minimum, bias
    r / sqrt n), and Theorem 3 (a) for shared rows with the constant of Lemma E, as counts of samples. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm calibration.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma inf_unique (W : Type) (F : W -> R) v (w : W) : (forall w, v <= F w) -> F w = v -> inf F = v.
Proof.
move=> H e; have [lb glb] := inf_spec w H.
by apply: Rle_antisym; [rewrite -[X in _ <= X]e; exact: lb | exact: glb].
Qed.

Section Affine.
Variables (T : finType) (K : T -> T -> R) (y : T -> R) (theta Lam kappa : R).
Hypotheses (Kpsd : psd K) (y1 : forall x, y x * y x = 1) (Kk : forall x, K x x <= kappa * kappa)
           (Htheta : 0 < theta < / 2) (Lam0 : 0 <= Lam) (k0 : 0 <= kappa).
Hypothesis regime : kappa * Lam <= 1 - 2 * theta.
Notation ball := (ball K Lam).
Notation one := (fun _ : T => 1).
Notation L := (L (K := K) y theta (Lam := Lam)).

Lemma L_affine f x : L f x = 1 + (g f x - y x * h f x) / 2.
Proof.
apply: (loss_affine _ _ _ _ Htheta regime).
- exact: (h_le Kpsd y1 Kk Htheta k0).
- exact: (g_le Kpsd Kk k0).
Qed.

(** Lemma D: the minimum of the affine risk over two balls. *)
Definition closed (uh ug : T -> R) := 1 - Lam / 2 * (nrm K uh + nrm K ug).
Lemma inf_closed uh ug : inf (fun f : ball => 1 + (dot K (sval f).2 ug - dot K (sval f).1 uh) / 2) = closed uh ug.
Proof.
have [wg [Ng Eg]] := ball_attained Kpsd ug Lam0.
have [wh [Nh Eh]] := ball_attained Kpsd uh Lam0.
have Nh' : nrm K (fun z => - wh z) <= Lam by rewrite (nrm_opp Kpsd).
apply: (@inf_unique _ _ _ (exist _ (fun z => - wh z, wg) (conj Nh' Ng))) => [[[w1 w2] /= [N1 N2]]|/=].
  have := ball_bound Kpsd ug Lam0 N2.
  have N1' : nrm K (fun z => -1 * w1 z) <= Lam by rewrite (nrm_scal Kpsd) Rabs_left; lra.
  have := ball_bound Kpsd uh Lam0 N1'; rewrite dot_scal /closed; lra.
have E : dot K (fun z => - wh z) uh = - dot K wh uh.
  rewrite (dot_ext K (u' := fun z => -1 * wh z) (v' := uh)) // => [|z]; last by ring.
  by rewrite dot_scal; ring.
by rewrite E Eg Eh /closed; field.
Qed.

Variables (d : fdist T) (n : nat).
Hypothesis n0 : (0 < n)%N.
Lemma risk_closed : popmin d L = closed (mu d y) (mu d one).
Proof.
rewrite -inf_closed; apply: inf_ext => f.
rewrite !(dotC Kpsd _ (mu d _)) !dot_mu.
rewrite (ex_ext (fun x => 1 + / 2 * (dot K (phi one x) (sval f).2 - dot K (phi y x) (sval f).1))) => [|x].
  by rewrite ex_add ex_const ex_mull ex_sub; field.
by rewrite L_affine /g /h /phi !dot_scal !(dotC Kpsd (feat x)); field.
Qed.
Lemma score_closed s : score L s = closed (mean y s) (@mean T n one s).
Proof.
have Hn := INR_pos n0.
rewrite -inf_closed; apply: inf_ext => f.
rewrite !(dotC Kpsd _ (mean _ s)) !dot_mean /emp.
rewrite (eq_bigr (fun i => 1 + / 2 * (dot K (phi one (s i)) (sval f).2 - dot K (phi y (s i)) (sval f).1))) => [|i _].
  rewrite rsum_add rsum_const card_ord -rsum_mull rsum_sub.
  set S1 := \big[_/_]_i _; set S2 := \big[_/_]_i _; field; lra.
by rewrite L_affine /g /h /phi !dot_scal !(dotC Kpsd (feat (s i))); field.
Qed.
(** The bias in the affine regime: r / sqrt n. *)
Theorem affine_bias : popmin d L - kappa * Lam / sqrt (INR n) <= ex (draws d n) (score (n := n) L).
Proof.
rewrite risk_closed (ex_ext _ score_closed) /closed ex_sub ex_const ex_mull ex_add.
have B a : (forall x, a x * a x = 1) -> ex (draws d n) (fun s => nrm K (mean a s)) <= nrm K (mu d a) + kappa / sqrt (INR n).
  by move=> a1; apply: mean_norm_high => // x; rewrite a1 Rmult_1_l.
have B1 := B y y1; have B2 := B one (fun _ => Rmult_1_l 1).
have -> : kappa * Lam / sqrt (INR n) = Lam / 2 * (kappa / sqrt (INR n) + kappa / sqrt (INR n)) by field; have := sqrt_lt_R0 _ (INR_pos n0); lra.
have l2 : 0 <= Lam / 2 by lra.
have := Rmult_le_compat_l _ _ _ l2 (Rplus_le_compat _ _ _ _ B1 B2); lra.
Qed.
End Affine.

(** Arms on shared rows 'I_m with their own Gram matrices; every rule that selects a smallest score. *)
Section Shared.
Variables (m n : nat) (x0 : 'I_m) (I : finType) (best : I) (K : I -> 'I_m -> 'I_m -> R) (y : 'I_m -> R) (theta Lam kappa : R).
Hypotheses (Kpsd : forall i, psd (K i)) (y1 : forall x, y x * y x = 1) (Kk : forall i x, K i x x <= kappa * kappa)
           (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa) (n0 : (0 < n)%N).
Definition armL i := L (K := K i) y theta (Lam := Lam).
Arguments armL : clear implicits.
Definition V i (s : {ffun 'I_n -> 'I_m}) : R := score (armL i) s.
Definition risk i : R := popmin (unif x0) (armL i).
Variable sel : {ffun 'I_n -> 'I_m} -> I.
Hypothesis smallest : forall s i, V (sel s) s <= V i s.
Notation r := (kappa * Lam).
Notation Mr := (arm.M theta Lam kappa).
Let Lam0' : 0 <= Lam. Proof. exact: Rlt_le. Qed.
Let k0' : 0 <= kappa. Proof. exact: Rlt_le. Qed.
Let zero i : ball (K i) Lam := ball0 (K i) Lam0'.
Lemma arm_bnd i x : bnd (fun f => armL i f x).
Proof. by apply: L_bnd; eauto. Qed.
Lemma arm_range i f x x' : armL i f x - armL i f x' <= Mr.
Proof. by apply: L_diff; eauto. Qed.
Lemma M_pos : 0 < Mr.
Proof.
have Hr : 0 < arm.r Lam kappa by exact: Rmult_lt_0_compat.
rewrite /arm.M.
have : 1 + arm.r Lam kappa <= loss_high theta (arm.r Lam kappa) by exact: Rmax_l.
have : loss_low theta (arm.r Lam kappa) <= 1 by rewrite /loss_low; do 2 (apply: Rmax_lub; last by nra || lra); lra.
lra.
Qed.

Definition failures := INR #|[pred s | rival best risk (sel s)]| / INR m ^ n.
Definition tail (D x : R) := exp (- (INR n * (pos x * pos x) / (2 * (D * D)))).

Theorem shared_selection e :
  (forall i, risk i - e <= ex (draws (unif x0) n) (V i)) ->
  failures <= \rsum_(i | rival best risk i) tail Mr (risk i - risk best - e).
Proof.
move=> He; rewrite /failures -[in INR m ^ n](card_ord m) -(pr_draws_unif x0 (fun s => rival best risk (sel s))).
have Hup : ex (draws (unif x0) n) (V best) <= risk best + 0.
  by rewrite Rplus_0_r; exact: (score_mean (zero best) (unif x0) n0 (arm_bnd best)).
have Hd i : bdiff (V i) (fun _ => Mr / INR n) by exact: (score_diff (zero i) n0 (arm_bnd i) (arm_range (i := i))).
apply: Rle_trans (uniform_selection n0 M_pos Hd Hup He smallest) _.
by apply: rsum_le => i _; rewrite /tail /gap Rminus_0_r; lra.
Qed.
(** Every regime. *)
Theorem every_regime :
  failures <= \rsum_(i | rival best risk i) tail Mr (risk i - risk best - 2 * cstar theta * r / sqrt (INR n)).
Proof.
apply: shared_selection => i.
have O := arm_optimism (Kpsd i) y1 (Kk i) Htheta Lam0' k0' (unif x0) n0.
have S s : risk i - V i s <= supdev (unif x0) (armL i) s by exact: (score_dev (zero i) (unif x0) (arm_bnd i) s).
have := ex_le (draws (unif x0) n) S; rewrite ex_sub ex_const; move: O; rewrite -/(armL i) /arm.r; lra.
Qed.
(** The affine regime. *)
Theorem affine_regime : r <= 1 - 2 * theta ->
  failures <= \rsum_(i | rival best risk i) tail (2 * r) (risk i - risk best - r / sqrt (INR n)).
Proof.
move=> Hreg; have Hr : 0 < r by exact: Rmult_lt_0_compat.
have -> : 2 * r = Mr.
  rewrite /arm.M /loss_high /loss_low /arm.r.
  have w : 0 < 1 - 2 * theta by lra.
  have br : theta / (1 - 2 * theta) * r <= theta.
    have : r / (1 - 2 * theta) <= 1 by apply: (Rmult_le_reg_r (1 - 2 * theta)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
    have -> : theta / (1 - 2 * theta) * r = theta * (r / (1 - 2 * theta)) by field; lra.
    nra.
  rewrite (Rmax_left (1 + r)); last lra.
  rewrite (Rmax_left (1 - r)); last nra.
  by rewrite Rmax_left; lra.
by apply: shared_selection => i; exact: affine_bias.
Qed.
End Shared.
