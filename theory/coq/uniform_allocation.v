(** The paper's Lemma 4 and Lemma 1 (i), corrected. The n rows of an arm are independent draws from its finite
    population (the training set); the rows of different arms may depend on each other in any way. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition paper_c (theta : R) := (1 - theta) / (1 - 2 * theta).
Lemma cstar_le_c theta : 0 < theta < / 2 -> cstar theta <= paper_c theta.
Proof.
move=> H; have H1 : 1 - 2 * theta <> 0 by lra.
have -> : paper_c theta = 1 + b theta by rewrite /paper_c /b; field.
have b0 : 0 <= b theta by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
by rewrite /cstar /Rmax; case: Rle_dec; lra.
Qed.
Lemma cstar_ge1 theta : 1 <= cstar theta.
Proof. by have := Rmax_l (/ 2) (b theta); rewrite /cstar; lra. Qed.

(** The launch budget. *)
Lemma launch c r Delta n : 0 < c -> 0 < r -> 0 < Delta -> 0 < n ->
  16 * (c * c) * (r * r) / (Delta * Delta) < n -> 2 * c * r / sqrt n < Delta / 2.
Proof.
move=> c0 r0 D0 Hn Hlaunch; have Hs := sqrt_lt_R0 _ Hn.
have DD : 0 < Delta * Delta by nra.
have A : 16 * (c * c) * (r * r) < n * (Delta * Delta).
  have := Rmult_lt_compat_r _ _ _ DD Hlaunch; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
apply: (Rmult_lt_reg_r (sqrt n)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last lra.
have S := sqrt_sqrt n (Rlt_le _ _ Hn).
apply: Rnot_le_lt => le; rewrite -S in A.
have cr : 0 < c * r by nra.
have p0 : 0 <= Delta * sqrt n by apply: Rlt_le; exact: Rmult_lt_0_compat.
have pt : Delta * sqrt n <= 4 * (c * r) by lra.
have := Rmult_le_compat _ _ _ _ p0 p0 pt pt; nra.
Qed.

(** An arm: a population with its kernel and labels. *)
Record arm (kappa : R) := Arm {
  rows : finType; distribution : fdist rows; gram_of : rows -> rows -> R; label : rows -> R;
  gram_psd : psd gram_of; label_sq : forall x, label x * label x = 1; gram_diag : forall x, gram_of x x <= kappa * kappa }.
Arguments distribution {kappa} a : rename.
Arguments gram_of {kappa} a x y : rename.
Arguments label {kappa} a x : rename.
Arguments gram_psd {kappa} a : rename.
Arguments label_sq {kappa} a x : rename.
Arguments gram_diag {kappa} a x : rename.

Section Arms.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Let Lam0' : 0 <= Lam. Proof. exact: Rlt_le. Qed.
Let k0' : 0 <= kappa. Proof. exact: Rlt_le. Qed.
Notation r := (r Lam kappa).
Notation M := (M theta Lam kappa).
Notation arm := (arm kappa).
Definition surr (a : arm) := L (K := gram_of a) (label a) theta (Lam := Lam).
Arguments surr : clear implicits.
Definition Rarm (a : arm) : R := popmin (distribution a) (surr a).
Definition Varm (a : arm) n (s : {ffun 'I_n -> rows a}) : R := score (surr a) s.

Lemma r_pos : 0 < r. Proof. exact: Rmult_lt_0_compat. Qed.
Lemma M_pos : 0 < M.
Proof.
have Hr := r_pos; rewrite /arm.M.
have : 1 + r <= loss_high theta r by exact: Rmax_l.
have : loss_low theta r <= 1 by rewrite /loss_low; do 2 (apply: Rmax_lub; last by nra || lra); lra.
lra.
Qed.

Section One.
Variables (a : arm) (n : nat).
Hypothesis n0 : (0 < n)%N.
Definition optimism := 2 * cstar theta * r / sqrt (INR n).
Lemma surr_bnd x : bnd (fun f => surr a f x).
Proof. by apply: L_bnd; eauto using (gram_psd a), (label_sq a), (gram_diag a). Qed.
Lemma surr_diff f x x' : surr a f x - surr a f x' <= M.
Proof. by apply: L_diff; eauto using (gram_psd a), (label_sq a), (gram_diag a). Qed.
Definition zero : ball (gram_of a) Lam := ball0 (gram_of a) Lam0'.
Lemma arm_diff : bdiff (@Varm a n) (fun _ => M / INR n).
Proof. exact: (score_diff zero n0 surr_bnd surr_diff). Qed.
Lemma arm_mean_high : ex (draws (distribution a) n) (@Varm a n) <= Rarm a.
Proof. exact: (score_mean zero (distribution a) n0 surr_bnd). Qed.
Lemma arm_mean_low : Rarm a - optimism <= ex (draws (distribution a) n) (@Varm a n).
Proof.
have O := arm_optimism (gram_psd a) (label_sq a) (gram_diag a) Htheta Lam0' k0' (distribution a) n0.
have S s : Rarm a - @Varm a n s <= supdev (distribution a) (surr a) s by exact: (score_dev zero (distribution a) surr_bnd s).
have := ex_le (draws (distribution a) n) S; rewrite ex_sub ex_const /optimism; move: O; rewrite -/(surr a); lra.
Qed.
Lemma arm_high t : 0 <= t ->
  pr (draws (distribution a) n) (fun s => geb (Varm s) (Rarm a + t)) <= exp (- (2 * INR n * (t * t) / (M * M))).
Proof.
move=> t0; apply: Rle_trans (score_high (distribution a) n0 M_pos arm_diff t0).
by apply: pr_sub => s /gebP l; apply/gebP; have := arm_mean_high; lra.
Qed.
Lemma arm_low t : optimism <= t ->
  pr (draws (distribution a) n) (fun s => geb (Rarm a - t) (Varm s)) <=
  exp (- (2 * INR n * ((t - optimism) * (t - optimism)) / (M * M))).
Proof.
move=> t0; apply: Rle_trans (score_low (t := t - optimism) (distribution a) n0 M_pos arm_diff _); last lra.
by apply: pr_sub => s /gebP l; apply/gebP; have := arm_mean_low; lra.
Qed.
End One.

(** Lemma 4, corrected. J is any joint distribution of the two samples. *)
Theorem lemma_4 (a1 ai : arm) n (Omega : finType) (J : fdist Omega)
    (X1 : Omega -> {ffun 'I_n -> rows a1}) (Xi : Omega -> {ffun 'I_n -> rows ai}) :
  (0 < n)%N ->
  (forall f, ex J (fun w => f (X1 w)) = ex (draws (distribution a1) n) f) ->
  (forall f, ex J (fun w => f (Xi w)) = ex (draws (distribution ai) n) f) ->
  let Delta := Rarm ai - Rarm a1 in
  let c := paper_c theta in
  0 < Delta -> 16 * (c * c) * (r * r) / (Delta * Delta) < INR n ->
  pr J (fun w => geb (Varm (X1 w)) (Varm (Xi w))) <=
  2 * exp (- (2 * INR n * ((Delta / 2 - 2 * c * r / sqrt (INR n)) * (Delta / 2 - 2 * c * r / sqrt (INR n))) / (M * M))).
Proof.
move=> n0 H1 Hi Delta c D0 Hlaunch.
have Hn := INR_pos n0; have Hs := sqrt_lt_R0 _ Hn; have Hr := r_pos; have HM := M_pos.
have Hc : 1 <= c by have := cstar_le_c Htheta; have := cstar_ge1 theta; rewrite -/c; lra.
pose e := 2 * c * r / sqrt (INR n).
have e0 : 0 <= e by apply: Rlt_le; apply: Rdiv_lt_0_compat => //; nra.
have oe : optimism n <= e.
  apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
  apply: Rmult_le_compat_r; first exact: Rlt_le.
  by have := cstar_le_c Htheta; rewrite -/c; lra.
have eD : e < Delta / 2 by apply: launch => //; lra.
apply: (Rle_trans _ (pr J (fun w => geb (Varm (X1 w)) (Rarm a1 + Delta / 2) || geb (Rarm ai - Delta / 2) (Varm (Xi w))))).
  apply: pr_sub => w /gebP l; apply/orP.
  case: (Rle_dec (Rarm a1 + Delta / 2) (Varm (X1 w))) => [le|/Rnot_le_gt gt]; first by left; apply/gebP.
  by right; apply/gebP; rewrite /Delta in gt *; lra.
apply: Rle_trans (pr_or _ _ _) _.
have P1 : pr J (fun w => geb (Varm (X1 w)) (Rarm a1 + Delta / 2)) = pr (draws (distribution a1) n) (fun s => geb (Varm s) (Rarm a1 + Delta / 2)).
  exact: (H1 (fun s => ind (geb (Varm s) (Rarm a1 + Delta / 2)))).
have Pi : pr J (fun w => geb (Rarm ai - Delta / 2) (Varm (Xi w))) = pr (draws (distribution ai) n) (fun s => geb (Rarm ai - Delta / 2) (Varm s)).
  exact: (Hi (fun s => ind (geb (Rarm ai - Delta / 2) (Varm s)))).
have mono t : Delta / 2 - e <= t -> exp (- (2 * INR n * (t * t) / (M * M))) <= exp (- (2 * INR n * ((Delta / 2 - e) * (Delta / 2 - e)) / (M * M))).
  move=> le; apply: exp_le; apply: Ropp_le_contravar; apply: Rmult_le_compat_r.
    by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
  by apply: Rmult_le_compat_l; nra.
have A1 := arm_high a1 n0 (t := Delta / 2) ltac:(lra).
have A2 := arm_low ai n0 (t := Delta / 2) ltac:(lra).
have M1 := mono (Delta / 2) ltac:(lra).
have M2 := mono (Delta / 2 - optimism n) ltac:(lra).
rewrite P1 Pi; rewrite -/e; lra.
Qed.

(** The exponential of Lemma 4 at a lower bound Delta of the gap. *)
Definition q4 (Delta : R) (n : nat) := exp (- (2 * INR n * ((Delta / 2 - 2 * paper_c theta * r / sqrt (INR n)) * (Delta / 2 - 2 * paper_c theta * r / sqrt (INR n))) / (M * M))).
Definition launched (Delta : R) (n : nat) := 16 * (paper_c theta * paper_c theta) * (r * r) / (Delta * Delta) < INR n.
Lemma lemma_4_gap (a1 ai : arm) n (Omega : finType) (J : fdist Omega)
    (X1 : Omega -> {ffun 'I_n -> rows a1}) (Xi : Omega -> {ffun 'I_n -> rows ai}) Delta :
  (0 < n)%N ->
  (forall f, ex J (fun w => f (X1 w)) = ex (draws (distribution a1) n) f) ->
  (forall f, ex J (fun w => f (Xi w)) = ex (draws (distribution ai) n) f) ->
  0 < Delta <= Rarm ai - Rarm a1 -> launched Delta n ->
  pr J (fun w => geb (Varm (X1 w)) (Varm (Xi w))) <= 2 * q4 Delta n.
Proof.
rewrite /launched /q4; set c := paper_c theta => n0 H1 Hi [D0 Dle] Hlaunch.
have Hn := INR_pos n0; have Hs := sqrt_lt_R0 _ Hn; have Hr := r_pos; have HM := M_pos.
set e := 2 * c * r / sqrt (INR n).
pose Di := Rarm ai - Rarm a1; rewrite -/Di in Dle.
have Hc : 1 <= c by have := cstar_le_c Htheta; have := cstar_ge1 theta; rewrite -/c; lra.
have DD : 0 < Delta * Delta by nra.
have A : 16 * (c * c) * (r * r) < INR n * (Delta * Delta).
  have := Rmult_lt_compat_r _ _ _ DD Hlaunch; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
have L4 := lemma_4 n0 H1 Hi; rewrite -/Di -/c -/e in L4.
apply: Rle_trans (L4 _ _) _; first lra.
  have DDi : 0 < Di * Di by nra.
  apply: (Rmult_lt_reg_r (Di * Di)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last lra.
  by rewrite Rmult_1_r; apply: Rlt_le_trans A _; apply: Rmult_le_compat_l; [lra | nra].
apply: Rmult_le_compat_l; first lra.
apply: exp_le; apply: Ropp_le_contravar; apply: Rmult_le_compat_r.
  by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
have eD : e < Delta / 2 by apply: launch => //; lra.
apply: Rmult_le_compat_l; first lra; rewrite -/e.
by apply: Rmult_le_compat; lra.
Qed.

(** Lemma 1 (i), corrected: any number of arms, any rule for ties; a rival is an arm outside of S*. *)
Theorem lemma_1_i (I : finType) (a : I -> arm) (best : I) n (Omega : finType) (J : fdist Omega)
    (X : forall i, Omega -> {ffun 'I_n -> rows (a i)}) (sel : Omega -> I) Delta :
  (0 < n)%N ->
  (forall i f, ex J (fun w => f (X i w)) = ex (draws (distribution (a i)) n) f) ->
  (forall w i, Varm (X (sel w) w) <= Varm (X i w)) ->
  let rival i := ~~ geb (Rarm (a best)) (Rarm (a i)) in
  let c := paper_c theta in
  (forall i, rival i -> Delta <= Rarm (a i) - Rarm (a best)) ->
  0 < Delta -> 16 * (c * c) * (r * r) / (Delta * Delta) < INR n ->
  pr J (fun w => rival (sel w)) <= INR #|[pred i | rival i]| *
  (2 * exp (- (2 * INR n * ((Delta / 2 - 2 * c * r / sqrt (INR n)) * (Delta / 2 - 2 * c * r / sqrt (INR n))) / (M * M)))).
Proof.
move=> n0 HX Hsel rival c HD D0 Hlaunch.
apply: (Rle_trans _ (pr J (fun w => [exists i, rival i && geb (Varm (X best w)) (Varm (X i w))]))).
  by apply: pr_sub => w rw; apply/existsP; exists (sel w); rewrite rw; apply/gebP; exact: Hsel.
apply: Rle_trans (pr_union J rival (fun i w => geb (Varm (X best w)) (Varm (X i w)))) _.
rewrite -rsum_const_pred; apply: rsum_le => i ri.
by apply: lemma_4_gap => //; split=> //; exact: HD.
Qed.
End Arms.
