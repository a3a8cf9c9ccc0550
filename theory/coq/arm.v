(** The score of an arm: infimum of the mean surrogate loss over a kernel ball. Lemma A (range of the loss; that the
    bounds are attained is not proved) and Lemma E (Rademacher constant) of docs/theorems.md. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Empirical minima over any class *)
Section Erm.
Variables (W : Type) (w0 : W) (T : finType) (d : fdist T) (n : nat) (l : W -> T -> R) (D : R).
Hypotheses (n0 : (0 < n)%N) (bl : forall x, bnd (fun w => l w x)) (range : forall w x x', l w x - l w x' <= D).
Notation sample := {ffun 'I_n -> T}.
Definition emp (s : sample) w : R := / INR n * \rsum_i l w (s i).
Definition score (s : sample) : R := inf (emp s).
Definition popmin : R := inf (fun w => ex d (l w)).
Definition supdev (s : sample) : R := sup (fun w => ex d (l w) - emp s w).
Definition rad (s : sample) : R := ex (draws sgn n) (fun e => sup (fun w => \rsum_i (sg (e i) * l w (s i)))).
Let Hn : 0 < INR n. Proof. exact: INR_pos. Qed.

Lemma bnd_emp s : bnd (emp s).
Proof. by apply: bnd_scal; apply: bnd_rsum. Qed.
Lemma bnd_pop : bnd (fun w => ex d (l w)).
Proof. exact: bnd_ex. Qed.
Lemma emp_diff i (s s' : sample) w : (forall j, j != i -> s j = s' j) -> emp s w - emp s' w <= D / INR n.
Proof.
move=> e; rewrite /emp -Rmult_minus_distr_l -rsum_sub (bigD1 i) //= big1 => [|j ne]; last by rewrite e //; ring.
rewrite Rplus_0_r /Rdiv Rmult_comm; apply: Rmult_le_compat_r; last exact: range.
by apply: Rlt_le; exact: Rinv_0_lt_compat.
Qed.
Lemma score_diff : bdiff score (fun _ => D / INR n).
Proof.
move=> i s s' e; suff : score s - D / INR n <= score s' by lra.
apply: inf_ge => // w; have := inf_le w0 w (bnd_emp s); have := emp_diff w e; rewrite /score; lra.
Qed.
Lemma ex_emp w : ex (draws d n) (fun s => emp s w) = ex d (l w).
Proof.
rewrite /emp ex_mull ex_rsum (eq_bigr (fun _ => ex d (l w))) => [|i _]; last exact: (ex_marginal d i (l w)).
by rewrite rsum_const card_ord; field; lra.
Qed.
Lemma score_mean : ex (draws d n) score <= popmin.
Proof.
apply: inf_ge => // w; rewrite -ex_emp; apply: ex_le => s; exact: (inf_le w0 w (bnd_emp s)).
Qed.
Lemma bnd_dev s : bnd (fun w => ex d (l w) - emp s w).
Proof. by apply: bnd_sub; [exact: bnd_pop | exact: bnd_emp]. Qed.
Lemma score_dev s : popmin - score s <= supdev s.
Proof.
suff : popmin - supdev s <= score s by lra.
apply: inf_ge => // w; have := sup_ge w0 w (bnd_dev s); have := inf_le w0 w bnd_pop; rewrite /popmin /supdev; lra.
Qed.
Lemma supdev_diff : bdiff supdev (fun _ => D / INR n).
Proof.
move=> i s s' e; suff : supdev s <= supdev s' + D / INR n by lra.
apply: sup_le => // w; have := sup_ge w0 w (bnd_dev s').
by have := emp_diff w (fun j ne => esym (e j ne)); rewrite /supdev; lra.
Qed.
Theorem supdev_mean : ex (draws d n) supdev <= 2 / INR n * ex (draws d n) rad.
Proof.
have H := symmetrisation w0 d bl n (bnd_const W 0).
have I0 : 0 < / INR n by exact: Rinv_0_lt_compat.
apply: (Rle_trans _ (/ INR n * ex (draws d n) (fun s => sup (fun w => 0 + \rsum_i (ex d (l w) - l w (s i)))))).
  rewrite -ex_mull; apply: ex_le => s.
  rewrite /supdev (sup_ext (G := fun w => / INR n * (0 + \rsum_i (ex d (l w) - l w (s i))))).
    apply: sup_scal => //; first lra.
    by apply: bnd_add; [exact: bnd_const | apply: bnd_rsum => i; apply: bnd_sub => //; exact: bnd_pop].
  move=> w; rewrite rsum_sub rsum_const card_ord /emp; set S := \big[_/_]_i _; field; lra.
have -> : 2 / INR n * ex (draws d n) rad = / INR n * (2 * ex (draws d n) rad) by field; lra.
apply: Rmult_le_compat_l; first lra.
apply: Rle_trans H _; rewrite -ex_mull; apply: ex_le => s; rewrite /rad -ex_mull; apply: ex_le => e.
rewrite (sup_ext (G := fun w => 2 * \rsum_i (sg (e i) * l w (s i)))) => [|w]; last first.
  by rewrite rsum_mull Rplus_0_l.
by apply: sup_scal => //; [lra | apply: bnd_rsum => i; apply: bnd_scal].
Qed.
End Erm.

(** * The surrogate loss on a kernel ball *)
Definition loss (theta t s : R) : R := Rmax (Rmax (1 + (s - t) / 2) (theta * (1 - s / (1 - 2 * theta)))) 0.

Definition loss_high theta r := Rmax (1 + r) (theta + theta / (1 - 2 * theta) * r).
Definition loss_low theta r := Rmax (Rmax (1 - r) (theta * (3 - 2 * theta - r))) 0.

Lemma Rabs_between x r : Rabs x <= r -> - r <= x <= r.
Proof. by rewrite /Rabs; case: Rcase_abs; lra. Qed.

(** Lemma A of docs/theorems.md: bounds of the loss on |t|, |s| <= r. *)
Theorem loss_range theta r t s : 0 < theta < / 2 -> Rabs t <= r -> Rabs s <= r ->
  loss_low theta r <= loss theta t s <= loss_high theta r.
Proof.
move=> Ht /Rabs_between Hr /Rabs_between Hs.
have Hw : 0 < 1 - 2 * theta by lra.
pose k := s / (1 - 2 * theta); pose q := r / (1 - 2 * theta).
have Ek : s = (1 - 2 * theta) * k by rewrite /k; field; lra.
have Eq : r = (1 - 2 * theta) * q by rewrite /q; field; lra.
have kq : k <= q by apply: (Rmult_le_reg_l (1 - 2 * theta)) => //; lra.
have kq' : - q <= k by apply: (Rmult_le_reg_l (1 - 2 * theta)) => //; lra.
have Eb : theta + theta / (1 - 2 * theta) * r = theta * (1 + q) by rewrite /q; field; lra.
rewrite /loss_low /loss_high /loss -/k Eb; split.
- apply: Rmax_lub; last exact: Rmax_r.
  apply: Rle_trans (Rmax_l _ _); apply: Rmax_lub; first by apply: Rle_trans (Rmax_l _ _); lra.
  have A := Rmax_l (1 + (s - t) / 2) (theta * (1 - k)).
  have B := Rmax_r (1 + (s - t) / 2) (theta * (1 - k)).
  move: (Rmax _ _) A B => m A B; nra.
- apply: Rmax_lub; last by apply: Rle_trans (Rmax_l _ _); lra.
  apply: Rmax_lub; first by apply: Rle_trans (Rmax_l _ _); lra.
  by apply: Rle_trans (Rmax_r _ _); nra.
Qed.

Lemma loss_split theta t s : loss theta t s =
  Rmax (((1 + (s - t) / 2) + theta * (1 - s / (1 - 2 * theta))) / 2
        + Rabs ((1 + (s - t) / 2) - theta * (1 - s / (1 - 2 * theta))) / 2) 0.
Proof.
rewrite /loss; congr Rmax; rewrite /Rmax /Rabs; case: Rle_dec => H; case: Rcase_abs => H'; lra.
Qed.

Section Arm.
Variables (T : finType) (K : T -> T -> R) (y : T -> R) (theta Lam kappa : R).
Hypotheses (Kpsd : psd K) (y1 : forall x, y x * y x = 1) (Kk : forall x, K x x <= kappa * kappa)
           (Htheta : 0 < theta < / 2) (Lam0 : 0 <= Lam) (k0 : 0 <= kappa).
Notation vec := (T -> R).
Definition ball := {f : vec * vec | nrm K f.1 <= Lam /\ nrm K f.2 <= Lam}.
Lemma ball0_in : nrm K (fun _ => 0) <= Lam /\ nrm K (fun _ : T => 0) <= Lam.
Proof. by rewrite /nrm dot0 sqrt_0. Qed.
Definition ball0 : ball := exist _ (fun _ => 0, fun _ => 0) ball0_in.
Definition h (f : ball) x : R := dot K (sval f).1 (feat x).
Definition g (f : ball) x : R := dot K (sval f).2 (feat x).
Definition L (f : ball) x : R := loss theta (y x * h f x) (g f x).
Definition r := kappa * Lam.
Definition b := theta / (1 - 2 * theta).
Definition cstar := / 2 + Rmax (/ 2) b.
Definition M := loss_high theta r - loss_low theta r.

Lemma feat_nrm x : nrm K (feat x) <= kappa.
Proof. by rewrite -(sqrt_square _ k0); apply: sqrt_le_1_alt; rewrite dot_feat. Qed.
Lemma val_le (w : vec) x : nrm K w <= Lam -> Rabs (dot K w (feat x)) <= r.
Proof.
move=> H; apply: Rle_trans (cauchy_abs Kpsd _ _) _; rewrite /r Rmult_comm.
by apply: Rmult_le_compat => //; [exact: nrm_ge0 | exact: nrm_ge0 | exact: feat_nrm].
Qed.
Lemma h_le f x : Rabs (y x * h f x) <= r.
Proof.
rewrite Rabs_mult (_ : Rabs (y x) = 1) ?Rmult_1_l; first by apply: val_le; case: f => f [].
have := y1 x; rewrite /Rabs; case: Rcase_abs => H e; nra.
Qed.
Lemma g_le f x : Rabs (g f x) <= r.
Proof. by apply: val_le; case: f => f []. Qed.
Lemma L_range f x : loss_low theta r <= L f x <= loss_high theta r.
Proof. by apply: loss_range => //; [exact: h_le | exact: g_le]. Qed.
Lemma L_diff f x x' : L f x - L f x' <= M.
Proof. by have := L_range f x; have := L_range f x'; rewrite /M; lra. Qed.
Lemma bnd_of (F : ball -> R) a c : (forall f, a <= F f <= c) -> bnd F.
Proof.
move=> H; exists (Rabs a + Rabs c) => f; have := H f; have := Rle_abs c; have := Rle_abs (- a).
by rewrite Rabs_Ropp; have := Rabs_pos a; have := Rabs_pos c; move=> ? ? ? ? ?; apply: Rabs_le; lra.
Qed.
Lemma L_bnd x : bnd (fun f => L f x).
Proof. by apply: bnd_of => f; exact: L_range. Qed.
Lemma h_bnd x : bnd (fun f => y x * h f x).
Proof. by exists r => f; exact: h_le. Qed.
Lemma g_bnd x : bnd (fun f => g f x).
Proof. by exists r => f; exact: g_le. Qed.

(** Rademacher averages of affine functions of (y h, g). *)
Section Signs.
Variables (n : nat) (s : {ffun 'I_n -> T}).
Hypothesis n0 : (0 < n)%N.
Definition ssum (a : T -> R) (e : {ffun 'I_n -> bool}) : vec := fun z => \rsum_i (sg (e i) * phi a (s i) z).

Lemma sg_mean i : ex (draws sgn n) (fun e => sg (e i)) = 0.
Proof. by rewrite (ex_marginal sgn i sg) ex_sgn /=; lra. Qed.
Lemma sg_sq c : sg c * sg c = 1. Proof. by case: c => /=; lra. Qed.
Lemma ssum_mean a : (forall x, a x * a x = 1) -> ex (draws sgn n) (fun e => nrm K (ssum a e)) <= kappa * sqrt (INR n).
Proof.
move=> a1; apply: Rle_trans (ex_sqrt (draws sgn n) (fun e => dot_ge0 Kpsd _)) _.
rewrite -{1}(sqrt_square _ k0) -sqrt_mult_alt; last exact: Rle_0_sqr.
apply: sqrt_le_1_alt.
rewrite (ex_ext (fun e : {ffun 'I_n -> bool} => \rsum_i \rsum_j (sg (e i) * sg (e j) * dot K (phi a (s i)) (phi a (s j))))) => [|e]; last first.
  rewrite /ssum dot_rsum; apply: eq_bigr => i _; rewrite dot_scal dot_rsum_r // rsum_mull; apply: eq_bigr => j _.
  by rewrite dot_scal_r //; ring.
have -> : kappa * kappa * INR n = \rsum_(i : 'I_n) (kappa * kappa) by rewrite rsum_const card_ord; ring.
rewrite ex_rsum; apply: rsum_le => i _.
rewrite ex_rsum (bigD1 i) //= big1 => [|j ne].
  rewrite Rplus_0_r (ex_ext (fun _ => K (s i) (s i))) => [|e]; first by rewrite ex_const.
  by rewrite sg_sq phi_sq // a1; ring.
rewrite eq_sym in ne; rewrite (ex_pair sgn (fun c c' => sg c * sg c' * dot K (phi a (s i)) (phi a (s j))) ne).
by rewrite !ex_sgn /=; field.
Qed.
Lemma dot_ssum w a e : dot K w (ssum a e) = \rsum_i (sg (e i) * (a (s i) * dot K w (feat (s i)))).
Proof. by rewrite /ssum dot_rsum_r //; apply: eq_bigr => i _; rewrite dot_scal_r // /phi dot_scal_r. Qed.

Lemma rad_affine c0 c1 c2 :
  ex (draws sgn n) (fun e => sup (fun f => \rsum_i (sg (e i) * (c0 + c1 * g f (s i) + c2 * (y (s i) * h f (s i)))))) <=
  (Rabs c1 + Rabs c2) * (r * sqrt (INR n)).
Proof.
apply: (Rle_trans _ (ex (draws sgn n) (fun e => c0 * (\rsum_i sg (e i))
   + (Rabs c1 * Lam * nrm K (ssum (fun _ => 1) e) + Rabs c2 * Lam * nrm K (ssum y e))))).
  apply: ex_le => e; apply: sup_le => [|f]; first exact: ball0.
  have -> : \rsum_i (sg (e i) * (c0 + c1 * g f (s i) + c2 * (y (s i) * h f (s i))))
     = c0 * (\rsum_i sg (e i)) + (c1 * dot K (sval f).2 (ssum (fun _ => 1) e) + c2 * dot K (sval f).1 (ssum y e)).
    rewrite !dot_ssum !rsum_mull -!rsum_add; apply: eq_bigr => i _; rewrite /g /h.
    by move: (sg _) (y _) (dot K (sval f).1 _) (dot K (sval f).2 _) => p1 p2 p3 p4; ring.
  have H c w u : nrm K w <= Lam -> c * dot K w u <= Rabs c * Lam * nrm K u.
    move=> Hw; apply: Rle_trans (Rle_abs _) _; rewrite Rabs_mult Rmult_assoc.
    apply: Rmult_le_compat_l; first exact: Rabs_pos.
    apply: Rle_trans (cauchy_abs Kpsd _ _) _.
    by apply: Rmult_le_compat_r => //; exact: nrm_ge0.
  have := H c1 (sval f).2 (ssum (fun _ => 1) e); have := H c2 (sval f).1 (ssum y e).
  by case: (f) => f' /= [F1 F2] /(_ F1) A /(_ F2) B; lra.
rewrite ex_add ex_mull ex_rsum big1 => [|i _]; last exact: sg_mean.
rewrite ex_add !ex_mull.
have H1 := ssum_mean (a := fun _ => 1) (fun _ => Rmult_1_l 1).
have H2 := ssum_mean y1.
have A1 : 0 <= Rabs c1 * Lam by apply: Rmult_le_pos => //; exact: Rabs_pos.
have A2 : 0 <= Rabs c2 * Lam by apply: Rmult_le_pos => //; exact: Rabs_pos.
have := Rmult_le_compat_l _ _ _ A1 H1; have := Rmult_le_compat_l _ _ _ A2 H2.
by rewrite /r; lra.
Qed.

Lemma lip_pos : lip1 (fun u => Rmax u 0).
Proof. by move=> u v; rewrite /Rmax /Rabs; do 2 case: Rle_dec; case: Rcase_abs; lra. Qed.
Lemma lip_abs : lip1 Rabs.
Proof. by move=> u v; have := Rabs_triang_inv u v; lra. Qed.

(** Lemma E of docs/theorems.md: the Rademacher sum of the loss class on any sample, with c* = 1/2 + max(1/2, b). *)
Theorem rad_loss : rad L s <= cstar * (r * sqrt (INR n)).
Proof.
pose u x (f : ball) := ((1 + (g f x - y x * h f x) / 2) + theta * (1 - g f x / (1 - 2 * theta))) / 2.
pose v x (f : ball) := ((1 + (g f x - y x * h f x) / 2) - theta * (1 - g f x / (1 - 2 * theta))) / 2.
have w : 1 - 2 * theta <> 0 by lra.
have Eu x f : u x f = (1 + theta) / 2 + (/ 2 - b) / 2 * g f x + (- / 4) * (y x * h f x) by rewrite /u /b; field.
have Ev x f : v x f = (1 - theta) / 2 + (/ 2 + b) / 2 * g f x + (- / 4) * (y x * h f x) by rewrite /v /b; field.
have Bu x : bnd (u x).
  apply: bnd_ext (fun f => esym (Eu x f)) _; apply: bnd_add; last by apply: bnd_scal; exact: h_bnd.
  by apply: bnd_add; [exact: bnd_const | apply: bnd_scal; exact: g_bnd].
have Bv x : bnd (v x).
  apply: bnd_ext (fun f => esym (Ev x f)) _; apply: bnd_add; last by apply: bnd_scal; exact: h_bnd.
  by apply: bnd_add; [exact: bnd_const | apply: bnd_scal; exact: g_bnd].
have Bav x : bnd (fun f => Rabs (v x f)) by exact: (bnd_lip lip_abs).
have B0 := bnd_const ball 0.
have EL f x : L f x = Rmax (u x f + Rabs (v x f)) 0.
  rewrite /L loss_split; congr (Rmax (_ + _) _).
  by rewrite /v /Rdiv Rabs_mult (Rabs_right (/ 2)) //; lra.
apply: (Rle_trans _ (ex (draws sgn n) (fun e => sup (fun f => 0 + \rsum_i (sg (e i) * (u (s i) f + Rabs (v (s i) f))))))).
  have := contraction ball0 (a := fun i f => u (s i) f + Rabs (v (s i) f)) B0 (fun i => bnd_add (Bu _) (Bav _)) lip_pos.
  apply: Rle_trans; apply: Req_le; apply: ex_ext => e; apply: sup_ext => f.
  by rewrite Rplus_0_l; apply: eq_bigr => i _; rewrite EL.
apply: (Rle_trans _ (ex (draws sgn n) (fun e => sup (fun f => \rsum_i (sg (e i) * u (s i) f)))
   + ex (draws sgn n) (fun e => sup (fun f => 0 + \rsum_i (sg (e i) * Rabs (v (s i) f)))))).
  rewrite -ex_add; apply: ex_le => e.
  rewrite (sup_ext (G := fun f => \rsum_i (sg (e i) * u (s i) f) + (0 + \rsum_i (sg (e i) * Rabs (v (s i) f))))).
    apply: sup_sub; first exact: ball0.
    - by apply: bnd_rsum => i; exact: bnd_scal.
    - by apply: bnd_add => //; apply: bnd_rsum => i; exact: bnd_scal.
  by move=> f; rewrite !Rplus_0_l -rsum_add; apply: eq_bigr => i _; ring.
have C2 := contraction ball0 (a := fun i f => v (s i) f) B0 (fun i => Bv _) lip_abs.
have R1 := rad_affine ((1 + theta) / 2) ((/ 2 - b) / 2) (- / 4).
have R2 := rad_affine ((1 - theta) / 2) ((/ 2 + b) / 2) (- / 4).
have E1 : ex (draws sgn n) (fun e => sup (fun f => \rsum_i (sg (e i) * u (s i) f))) =
    ex (draws sgn n) (fun e => sup (fun f => \rsum_i (sg (e i) * ((1 + theta) / 2 + (/ 2 - b) / 2 * g f (s i) + (- / 4) * (y (s i) * h f (s i)))))).
  by apply: ex_ext => e; apply: sup_ext => f; apply: eq_bigr => i _; rewrite Eu.
have E2 : ex (draws sgn n) (fun e => sup (fun f => 0 + \rsum_i (sg (e i) * v (s i) f))) =
    ex (draws sgn n) (fun e => sup (fun f => \rsum_i (sg (e i) * ((1 - theta) / 2 + (/ 2 + b) / 2 * g f (s i) + (- / 4) * (y (s i) * h f (s i)))))).
  by apply: ex_ext => e; apply: sup_ext => f; rewrite Rplus_0_l; apply: eq_bigr => i _; rewrite Ev.
have b0 : 0 <= b by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
have Ec : cstar = (Rabs ((/ 2 - b) / 2) + Rabs (- / 4)) + (Rabs ((/ 2 + b) / 2) + Rabs (- / 4)).
  rewrite (Rabs_left (- / 4)) ?(Rabs_right ((/ 2 + b) / 2)); try lra.
  rewrite /cstar /Rmax /Rabs; case: Rle_dec => ?; case: Rcase_abs => ?; lra.
rewrite Ec Rmult_plus_distr_r -E1 -E2 in R1 R2 *; lra.
Qed.
End Signs.

Section Trial.
Variables (d : fdist T) (n : nat).
Hypothesis n0 : (0 < n)%N.
Theorem arm_optimism : ex (draws d n) (supdev d L) <= 2 * cstar * r / sqrt (INR n).
Proof.
have Hn := INR_pos n0; have Hs := sqrt_lt_R0 _ Hn.
apply: Rle_trans (supdev_mean ball0 d n0 L_bnd) _.
apply: (Rle_trans _ (2 / INR n * (cstar * (r * sqrt (INR n))))).
  apply: Rmult_le_compat_l; first by apply: Rlt_le; apply: Rdiv_lt_0_compat; lra.
  by rewrite -[X in _ <= X](ex_const (draws d n)); apply: ex_le => s; exact: rad_loss.
rewrite -{1}(sqrt_sqrt (INR n)); last lra.
by apply: Req_le; field; lra.
Qed.
End Trial.
End Arm.
