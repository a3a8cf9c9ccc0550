(** Lemma B of docs/theorems.md (change of the loss when a row is replaced), and Theorem 2 for pairs of rows, for independent
    samples and for arbitrary dependence, with any D that bounds the change of the loss. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import calibration finite_probability concentration selection gram rademacher arm uniform_allocation optimism shared_rows.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma loss_change theta t s t' s' : 0 < theta < / 2 ->
  loss theta t s - loss theta t' s' <= Rmax ((Rabs (t - t') + Rabs (s - s')) / 2) (b theta * Rabs (s - s')).
Proof.
move=> H; set m := Rmax _ _.
have m1 : (Rabs (t - t') + Rabs (s - s')) / 2 <= m by exact: Rmax_l.
have m2 : b theta * Rabs (s - s') <= m by exact: Rmax_r.
have a1 := Rle_abs (s - s'); have a2 := Rle_abs (- (s - s')); have a3 := Rle_abs (t - t'); have a4 := Rle_abs (- (t - t')).
rewrite !Rabs_Ropp in a2 a4; have a0 := Rabs_pos (s - s').
have b0 : 0 <= b theta by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
have P1 := first_piece theta t' s'; have P2 := second_piece theta t' s'; have P0 := not_negative theta t' s'.
have E u : theta * (1 - u / (1 - 2 * theta)) = theta - b theta * u by rewrite /b; field; lra.
rewrite E in P2; suff : loss theta t s <= loss theta t' s' + m by lra.
rewrite {1}/loss E; apply: Rmax_lub; last by have := Rmult_le_pos _ _ b0 a0; lra.
apply: Rmax_lub; first lra.
have : b theta * (s' - s) <= b theta * Rabs (s - s') by apply: Rmult_le_compat_l; lra.
lra.
Qed.

(** Lemma B: for a nonnegative kernel. *)
Section LemmaB.
Variables (T : finType) (K : T -> T -> R) (y : T -> R) (theta Lam kappa : R).
Hypotheses (Kp : psd K) (y1 : forall x, y x * y x = 1) (Kk : forall x, K x x <= kappa * kappa) (Kpos : forall x x', 0 <= K x x')
           (Htheta : 0 < theta < / 2) (Lam0 : 0 <= Lam) (k0 : 0 <= kappa).
Notation L := (L (K := K) y theta (Lam := Lam)).
Theorem lemma_B f x x' : L f x - L f x' <= sqrt 2 * Rmax 1 (b theta) * arm.r Lam kappa.
Proof.
apply: Rle_trans (loss_change _ _ _ _ Htheta) _.
pose u1 z := y x * feat x z - y x' * feat x' z; pose u2 z := feat x z - feat x' z.
have Hv (w : T -> R) u : nrm K w <= Lam -> Rabs (dot K w u) <= Lam * nrm K u.
  move=> Hw; apply: Rle_trans (cauchy_abs Kp _ _) _; apply: Rmult_le_compat_r => //; exact: nrm_ge0.
have dt : Rabs (y x * h f x - y x' * h f x') <= Lam * nrm K u1.
  have -> : y x * h f x - y x' * h f x' = dot K (sval f).1 u1 by rewrite /u1 dot_sub_r // !dot_scal_r.
  by apply: Hv; case: (f) => ? [].
have ds : Rabs (g f x - g f x') <= Lam * nrm K u2.
  have -> : g f x - g f x' = dot K (sval f).2 u2 by rewrite /u2 dot_sub_r.
  by apply: Hv; case: (f) => ? [].
have q2 : nrm K u2 * nrm K u2 = K x x + K x' x' - 2 * K x x'.
  by rewrite nrm_sq // /u2 dot_sub !dot_sub_r // !dot_feat (proj1 Kp x' x); ring.
have q1 : nrm K u1 * nrm K u1 = K x x + K x' x' - 2 * (y x * y x') * K x x'.
  rewrite nrm_sq // /u1 dot_sub !dot_sub_r // !dot_scal !dot_scal_r // !dot_feat (proj1 Kp x' x).
  have e1 : y x * (y x * K x x) = K x x by rewrite -Rmult_assoc y1 Rmult_1_l.
  have e2 : y x' * (y x' * K x' x') = K x' x' by rewrite -Rmult_assoc y1 Rmult_1_l.
  by rewrite e1 e2; ring.
have N1 := nrm_ge0 K u1; have N2 := nrm_ge0 K u2; have kx := Kk x; have kx' := Kk x'; have kp := Kpos x x'.
have s2 : 0 < sqrt 2 by apply: sqrt_lt_R0; lra.
have s22 : sqrt 2 * sqrt 2 = 2 by apply: sqrt_sqrt; lra.
have yy : -1 <= y x * y x'.
  have := y1 x; have := y1 x'; have := Rle_0_sqr (y x + y x'); rewrite /Rsqr; nra.
have n2 : nrm K u2 <= sqrt 2 * kappa.
  apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos; lra.
  have e : sqrt 2 * kappa * (sqrt 2 * kappa) = sqrt 2 * sqrt 2 * (kappa * kappa) by ring.
  by rewrite /Rsqr q2 e s22; lra.
have n12 : nrm K u1 + nrm K u2 <= 2 * (sqrt 2 * kappa).
  apply: Rsqr_incr_0_var; last by apply: Rmult_le_pos; [lra | apply: Rmult_le_pos; lra].
  have -> : Rsqr (2 * (sqrt 2 * kappa)) = 4 * (sqrt 2 * sqrt 2) * (kappa * kappa) by rewrite /Rsqr; ring.
  rewrite s22 /Rsqr; have := Rle_0_sqr (nrm K u1 - nrm K u2); rewrite /Rsqr.
  have := Rmult_le_pos _ _ (_ : 0 <= 1 + y x * y x') kp; nra.
have M1 := Rmax_l 1 (b theta); have M2 := Rmax_r 1 (b theta).
have b0 : 0 <= b theta by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
have r0 : 0 <= sqrt 2 * (kappa * Lam) by apply: Rmult_le_pos; [lra | exact: Rmult_le_pos].
rewrite /arm.r; apply: Rmax_lub.
- apply: (Rle_trans _ (sqrt 2 * (kappa * Lam))); last by have := Rmult_le_compat_r _ _ _ r0 M1; lra.
  have := Rmult_le_compat_l _ _ _ Lam0 n12; lra.
- apply: (Rle_trans _ (b theta * (sqrt 2 * (kappa * Lam)))); last by have := Rmult_le_compat_r _ _ _ r0 M2; lra.
  by apply: Rmult_le_compat_l => //; have := Rmult_le_compat_l _ _ _ Lam0 n2; lra.
Qed.
End LemmaB.

(** Samples of pairs. *)
Lemma draws_map (S T : finType) (d : fdist S) (e : fdist T) (m : S -> T) n f : (forall g, ex d (fun x => g (m x)) = ex e g) ->
  ex (draws d n) (fun s => f [ffun i => m (s i)]) = ex (draws e n) f.
Proof.
move=> H; elim: n f => [|n IH] f.
  case: (pickP (fun _ : S => true)) => [x0 _|none]; last first.
    have : \rsum_x d x = 0 by apply: big1 => x; have := none x.
    by rewrite pmf_sum => /R1_neq_R0.
  rewrite (ex_draws0 e f [ffun=> m x0]) -[RHS](ex_const (draws d 0)); apply: ex_ext => s; congr f.
  by apply/ffunP => -[].
rewrite !ex_drawsS -(H (fun y => ex (draws e n) (fun s => f (fcons y s)))); apply: ex_ext => x.
rewrite -(IH (fun s => f (fcons (m x) s))); apply: ex_ext => s; congr f.
apply/ffunP => i; rewrite !ffunE; case: unliftP => [j _|_] //; by rewrite ffunE.
Qed.

Section Variants.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (a1 ai : arm kappa) (n : nat) (D : R).
Notation V := (Varm theta Lam).
Notation risk := (Rarm theta Lam).
Notation surr a := (@uniform_allocation.surr theta Lam kappa a).
Hypotheses (n0 : (0 < n)%N) (D0 : 0 < D)
  (D1 : forall f x x', surr a1 f x - surr a1 f x' <= D) (Di : forall f x x', surr ai f x - surr ai f x' <= D).
(** The gap minus the optimism of Theorem 1. *)
Definition excess_gap : R := risk ai - risk a1 - c_d theta * (kappa * Lam) / sqrt (INR n).
Notation x := excess_gap.
Lemma diff_1 : bdiff (@Varm theta Lam kappa a1 n) (fun _ => D / INR n).
Proof. exact: (score_diff (zero Lam0 a1) n0 (surr_bnd Lam Htheta k0 (a := a1)) D1). Qed.
Lemma diff_i : bdiff (@Varm theta Lam kappa ai n) (fun _ => D / INR n).
Proof. exact: (score_diff (zero Lam0 ai) n0 (surr_bnd Lam Htheta k0 (a := ai)) Di). Qed.
Lemma mean_1 : ex (draws (distribution a1) n) (@Varm theta Lam kappa a1 n) <= risk a1.
Proof. exact: arm_mean_high. Qed.
Lemma mean_i : risk ai - c_d theta * (kappa * Lam) / sqrt (INR n) <= ex (draws (distribution ai) n) (@Varm theta Lam kappa ai n).
Proof.
apply: (theorem_1 (gram_psd ai) (label_sq ai) (gram_diag ai) Htheta (Rlt_le _ _ Lam0) (Rlt_le _ _ k0) (distribution ai) n0) => q Hq.
exact: c_dP.
Qed.
Lemma means : ex (draws (distribution a1) n) (@Varm theta Lam kappa a1 n) + x <= ex (draws (distribution ai) n) (@Varm theta Lam kappa ai n).
Proof. by have := mean_1; have := mean_i; rewrite /excess_gap; lra. Qed.

(** Theorem 2, pairs that are independent across draws, with any dependence inside a pair. *)
Theorem theorem_2_pairs (d : fdist (prod_finType (rows a1) (rows ai))) :
  (forall g, ex d (fun q => g q.1) = ex (distribution a1) g) -> (forall g, ex d (fun q => g q.2) = ex (distribution ai) g) ->
  pr (draws d n) (fun s => geb (V (a := a1) [ffun i => (s i).1]) (V (a := ai) [ffun i => (s i).2])) <=
  exp (- (INR n * (pos x * pos x) / (2 * (D * D)))).
Proof.
move=> H1 Hi.
apply: (pairwise (V1 := fun s => V (a := a1) [ffun i => (s i).1]) (Vi := fun s => V (a := ai) [ffun i => (s i).2]) n0 D0).
- by move=> i s s' e; apply: (diff_1 (i := i)) => j ne; rewrite !ffunE e.
- by move=> i s s' e; apply: (diff_i (i := i)) => j ne; rewrite !ffunE e.
- by rewrite (draws_map (@Varm theta Lam kappa a1 n) H1) (draws_map (@Varm theta Lam kappa ai n) Hi); exact: means.
Qed.

(** Theorem 2, independent samples. *)
Theorem theorem_2_independent :
  ex (draws (distribution a1) n) (fun s => pr (draws (distribution ai) n) (fun s' => geb (V (a := a1) s) (V (a := ai) s'))) <=
  exp (- (INR n * (pos x * pos x) / (D * D))).
Proof.
have Hn := INR_pos n0; have DD : 0 < D * D by nra.
case: (Rle_dec x 0) => [le|/Rnot_le_gt gt].
  rewrite /pos Rmax_left // (_ : - _ = 0) ?exp_0; last by field; lra.
  by rewrite -[X in _ <= X](ex_const (draws (distribution a1) n)); apply: ex_le => s; exact: pr_le1.
rewrite /pos Rmax_right; last lra.
pose l := 2 * INR n * x / (D * D).
have l0 : 0 <= l by apply: Rmult_le_pos; [nra | apply: Rlt_le; exact: Rinv_0_lt_compat].
set E1 := ex (draws (distribution a1) n) (@Varm theta Lam kappa a1 n); set Ei := ex (draws (distribution ai) n) (@Varm theta Lam kappa ai n).
have mg1 := mcdiarmid_mgf (distribution a1) l diff_1; have mgi := mcdiarmid_mgf (distribution ai) l (bdiff_opp diff_i).
rewrite -/E1 (sum_sq n0) in mg1; rewrite ex_opp -/Ei (sum_sq n0) in mgi.
apply: (Rle_trans _ (ex (draws (distribution a1) n) (fun s => exp (- (l * x)) * exp (l * (V (a := a1) s - E1)) *
   ex (draws (distribution ai) n) (fun s' => exp (l * (- V (a := ai) s' - - Ei)))))).
  apply: ex_le => s; rewrite -ex_mull; apply: ex_le => s'; rewrite -!exp_plus /ind.
  case: ifP => [/gebP le|_]; last by apply: Rlt_le; exact: exp_pos.
  rewrite -exp_0; apply: exp_le; have := means; rewrite -/E1 -/Ei => m.
  have : 0 <= l * (V (a := a1) s - V (a := ai) s' + (Ei - E1 - x)) by apply: Rmult_le_pos => //; lra.
  lra.
rewrite ex_mulr ex_mull.
have e0 u : 0 <= exp u by apply: Rlt_le; exact: exp_pos.
apply: (Rle_trans _ (exp (- (l * x)) * exp (l * l * (D * D / INR n) / 8) * exp (l * l * (D * D / INR n) / 8))).
  apply: Rmult_le_compat.
  - by apply: Rmult_le_pos; [exact: e0 | apply: ex_ge0 => s; exact: e0].
  - by apply: ex_ge0 => s; exact: e0.
  - by apply: Rmult_le_compat_l; [exact: e0 | exact: mg1].
  - exact: mgi.
by rewrite -!exp_plus; apply: exp_le; apply: Req_le; rewrite /l; field; lra.
Qed.

(** Theorem 2, arbitrary dependence. *)
Theorem theorem_2_arbitrary (Omega : finType) (J : fdist Omega)
    (X1 : Omega -> {ffun 'I_n -> rows a1}) (Xi : Omega -> {ffun 'I_n -> rows ai}) :
  (forall f, ex J (fun w => f (X1 w)) = ex (draws (distribution a1) n) f) ->
  (forall f, ex J (fun w => f (Xi w)) = ex (draws (distribution ai) n) f) ->
  pr J (fun w => geb (V (X1 w)) (V (Xi w))) <= 2 * exp (- (INR n * (pos x * pos x) / (2 * (D * D)))).
Proof.
move=> H1 Hi; have Hn := INR_pos n0; have DD : 0 < D * D by nra.
case: (Rle_dec x 0) => [le|/Rnot_le_gt gt].
  rewrite /pos Rmax_left // (_ : - _ = 0) ?exp_0; last by field; lra.
  by apply: Rle_trans (pr_le1 _ _) _; lra.
rewrite /pos Rmax_right; last lra.
have x2 : 0 <= x / 2 by lra.
have P1 := score_high (distribution a1) n0 D0 diff_1 x2; have Pi := score_low (distribution ai) n0 D0 diff_i x2.
set E1 := ex _ _ in P1; set Ei := ex _ _ in Pi.
apply: (Rle_trans _ (pr J (fun w => geb (V (X1 w)) (E1 + x / 2) || geb (Ei - x / 2) (V (Xi w))))).
  apply: pr_sub => w /gebP l; apply/orP; have := means; rewrite -/E1 -/Ei => m.
  case: (Rle_dec (E1 + x / 2) (V (X1 w))) => [le|/Rnot_le_gt gt']; first by left; apply/gebP.
  by right; apply/gebP; lra.
apply: Rle_trans (pr_or _ _ _) _.
have -> : pr J (fun w => geb (V (X1 w)) (E1 + x / 2)) = pr (draws (distribution a1) n) (fun s => geb (V s) (E1 + x / 2)).
  exact: (H1 (fun s => ind (geb (V s) (E1 + x / 2)))).
have -> : pr J (fun w => geb (Ei - x / 2) (V (Xi w))) = pr (draws (distribution ai) n) (fun s => geb (Ei - x / 2) (V s)).
  exact: (Hi (fun s => ind (geb (Ei - x / 2) (V s)))).
have -> : INR n * (x * x) / (2 * (D * D)) = 2 * INR n * (x / 2 * (x / 2)) / (D * D) by field; lra.
move: P1 Pi; lra.
Qed.
End Variants.
