(** Lemma C of docs/theorems.md: scores and risks lie between the smallest loss and 1, and a fraction p of positive labels bounds the
    gaps further. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm calibration uniform_allocation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Gaps.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Notation r := (arm.r Lam kappa).
Notation risk a := (Rarm theta Lam a).
Notation surr a := (@uniform_allocation.surr theta Lam kappa a).

Section One.
Variable a : arm kappa.
Notation K := (gram_of a).
Notation y := (label a).
Notation d := (distribution a).
Let Kp : psd K := gram_psd a.
Let k0' : 0 <= kappa. Proof. exact: Rlt_le. Qed.
Lemma surr_low f x : loss_low theta r <= surr a f x.
Proof. by case: (L_range Kp (label_sq a) (gram_diag a) Htheta k0' f x). Qed.
Lemma zero_loss x : surr a (zero Lam0 a) x = 1.
Proof.
rewrite /uniform_allocation.surr /arm.L /h /g /= !dot0 /loss Rmult_0_r (_ : 0 / (1 - 2 * theta) = 0); last by field; lra.
by rewrite Rminus_0_r (_ : 1 + 0 / 2 = 1) ?(Rmax_left 1) ?Rmax_left; lra.
Qed.
Lemma risk_high : risk a <= 1.
Proof.
apply: Rle_trans (inf_le (zero Lam0 a) (zero Lam0 a) (bnd_pop d (surr_bnd Lam Htheta k0 (a := a)))) _.
by rewrite -[X in _ <= X](ex_const d); apply: Req_le; apply: ex_ext => x; exact: zero_loss.
Qed.
(** Every score and every risk. *)
Theorem lemma_C_range n (s : {ffun 'I_n -> rows a}) : (0 < n)%N ->
  loss_low theta r <= Varm theta Lam s <= 1 /\ loss_low theta r <= risk a <= 1.
Proof.
move=> n0; have Hn := INR_pos n0; have B := surr_bnd Lam Htheta k0 (a := a).
have mean (F : rows a -> R) c : (forall x, c <= F x) -> c <= / INR n * \rsum_i F (s i).
  move=> H; have : \rsum_(i : 'I_n) c <= \rsum_i F (s i) by apply: rsum_le => i _.
  rewrite rsum_const card_ord => le.
  by apply: (Rmult_le_reg_l (INR n)) => //; rewrite -Rmult_assoc Rinv_r; lra.
split; split.
- by apply: (inf_ge (zero Lam0 a)) => f; apply: mean => x; exact: surr_low.
- apply: Rle_trans (inf_le (zero Lam0 a) (zero Lam0 a) (bnd_emp B s)) _.
  rewrite /emp (eq_bigr (fun _ => 1)) => [|i _]; last exact: zero_loss.
  by rewrite rsum_const card_ord; apply: Req_le; field; lra.
- apply: (inf_ge (zero Lam0 a)) => f; rewrite -(ex_const d (loss_low theta r)).
  by apply: ex_le => x; exact: surr_low.
- exact: risk_high.
Qed.

(** Jensen's inequality. *)
Lemma loss_jensen (t u : rows a -> R) : loss theta (ex d t) (ex d u) <= ex d (fun x => loss theta (t x) (u x)).
Proof.
rewrite {1}/loss; apply: Rmax_lub; first apply: Rmax_lub.
- apply: (Rle_trans _ (ex d (fun x => 1 + / 2 * (u x - t x)))).
    by rewrite ex_add ex_const ex_mull ex_sub; lra.
  by apply: ex_le => x; have := first_piece theta (t x) (u x); lra.
- apply: (Rle_trans _ (ex d (fun x => theta - theta / (1 - 2 * theta) * u x))).
    by rewrite ex_sub ex_const ex_mull; apply: Req_le; field; lra.
  apply: ex_le => x; have := second_piece theta (t x) (u x).
  by rewrite (_ : theta * (1 - u x / (1 - 2 * theta)) = theta - theta / (1 - 2 * theta) * u x) //; field; lra.
- by apply: ex_ge0 => x; exact: not_negative.
Qed.

(** The weights of the positive and of the negative labels. *)
Definition positive : R := ex d (fun x => (1 + y x) / 2).
Lemma mean_weight c : (forall x, 0 <= c x) -> dot K (mu d c) (mu d c) <= kappa * kappa * (ex d c * ex d c).
Proof.
move=> c0; have Kle x z : dot K (feat z) (feat x) <= kappa * kappa.
  apply: Rle_trans (cauchy_schwarz Kp _ _) _.
  by apply: Rmult_le_compat; try exact: nrm_ge0; exact: (feat_nrm (gram_diag a) k0').
have inner x : dot K (mu d c) (feat x) <= kappa * kappa * ex d c.
  by rewrite dot_mu -ex_mull; apply: ex_le => z; rewrite /phi dot_scal Rmult_comm; apply: Rmult_le_compat_r.
rewrite dot_mu (_ : kappa * kappa * _ = ex d (fun x => c x * (kappa * kappa * ex d c))); last by rewrite ex_mulr; ring.
by apply: ex_le => x; rewrite /phi dot_scal (dotC Kp); apply: Rmult_le_compat_l.
Qed.
(** The means of y h and g lie in a box and in a disc. *)
Definition radius : R := positive * positive + (1 - positive) * (1 - positive).
Lemma mean_disc (f : ball K Lam) :
  let t := ex d (fun x => y x * h f x) in let u := ex d (g f) in
  [/\ Rabs t <= r, Rabs u <= r & t * t + u * u <= 2 * (r * r) * radius].
Proof.
move=> t u; case: (svalP f) => N1 N2.
have between F : (forall x, Rabs (F x) <= r) -> Rabs (ex d F) <= r.
  by move=> H; apply: Rabs_le; apply: ex_bounds => x; exact: Rabs_between.
split; first by apply: between => x; exact: (h_le Kp (label_sq a) (gram_diag a) Htheta k0').
  by apply: between => x; exact: (g_le Kp (gram_diag a) k0').
have value c w : ex d (fun x => c x * dot K w (feat x)) = dot K (mu d c) w.
  by rewrite dot_mu; apply: ex_ext => x; rewrite /phi dot_scal (dotC Kp).
have cauchy v w : nrm K w <= Lam -> dot K v w * dot K v w <= Lam * Lam * dot K v v.
  move=> H; apply: Rle_trans (cauchy_sq Kp v w) _; rewrite Rmult_comm; apply: Rmult_le_compat_r; first exact: dot_ge0.
  by rewrite -(nrm_sq Kp w); apply: Rmult_le_compat => //; exact: nrm_ge0.
pose P := mu d (fun x => (1 + y x) / 2); pose Q := mu d (fun x => (1 - y x) / 2).
have Et : t = dot K (fun z => P z - Q z) (sval f).1.
  rewrite /t (value y); apply: dot_ext => // z; rewrite /P /Q /mu -ex_sub; by apply: ex_ext => x; rewrite /phi /=; lra.
have Eu : u = dot K (fun z => P z + Q z) (sval f).2.
  rewrite /u (ex_ext (fun x => 1 * dot K (sval f).2 (feat x))) => [|x]; last by rewrite /g; ring.
  rewrite (value (fun _ => 1)); apply: dot_ext => // z; rewrite /P /Q /mu -ex_add; by apply: ex_ext => x; rewrite /phi /=; lra.
have C1 := cauchy (fun z => P z - Q z) _ N1; have C2 := cauchy (fun z => P z + Q z) _ N2.
rewrite -Et in C1; rewrite -Eu in C2.
have yb x : -1 <= y x <= 1 by have := label_sq a x; nra.
have W1 := mean_weight (c := fun x => (1 + y x) / 2) (fun x => ltac:(have := yb x; lra)).
have W2 := mean_weight (c := fun x => (1 - y x) / 2) (fun x => ltac:(have := yb x; lra)).
have E2 : ex d (fun x => (1 - y x) / 2) = 1 - positive.
  suff : ex d (fun x => (1 - y x) / 2) + positive = 1 by lra.
  by rewrite /positive -ex_add (ex_ext (fun _ => 1)) ?ex_const // => x; field.
rewrite -/P -/positive in W1; rewrite -/Q E2 in W2.
have L2 : 0 <= Lam * Lam by nra.
have par : dot K (fun z => P z - Q z) (fun z => P z - Q z) + dot K (fun z => P z + Q z) (fun z => P z + Q z) = 2 * (dot K P P + dot K Q Q).
  by rewrite dot_sub !(dot_sub_r Kp) dot_add !(dot_add_r Kp); ring.
have := Rmult_le_compat_l _ _ _ L2 W1; have := Rmult_le_compat_l _ _ _ L2 W2; rewrite /arm.r /radius; nra.
Qed.
End One.

(** The gap of two arms; p is the fraction of positive labels of the better one. *)
Theorem lemma_C (a1 ai : arm kappa) low :
  (forall t u, Rabs t <= r -> Rabs u <= r -> t * t + u * u <= 2 * (r * r) * radius a1 -> low <= loss theta t u) ->
  risk ai - risk a1 <= 1 - low.
Proof.
move=> H; have hi := risk_high ai.
suff : low <= risk a1 by lra.
apply: (inf_ge (zero Lam0 a1)) => f; have [B1 B2 B3] := mean_disc f.
by apply: Rle_trans (H _ _ B1 B2 B3) _; exact: loss_jensen.
Qed.
(** Every regime: kappa Lambda sqrt(p^2 + (1 - p)^2). *)
Theorem lemma_C_root (a1 ai : arm kappa) : risk ai - risk a1 <= r * sqrt (radius a1).
Proof.
have R0 : 0 <= radius a1 by rewrite /radius; nra.
have r0 : 0 < r := r_pos Lam0 k0.
have S := sqrt_sqrt _ R0; have S0 := sqrt_pos (radius a1).
rewrite -[X in _ <= X](_ : 1 - (1 - r * sqrt (radius a1)) = _); last by ring.
apply: lemma_C => t u _ _ disc; apply: Rle_trans (first_piece theta t u).
have : (t - u) * (t - u) <= (2 * r * sqrt (radius a1)) * (2 * r * sqrt (radius a1)).
  rewrite (_ : _ * (2 * r * _) = 4 * (r * r) * (sqrt (radius a1) * sqrt (radius a1))); last by ring.
  by rewrite S; have := Rle_0_sqr (t + u); rewrite /Rsqr; nra.
have p : 0 <= 2 * r * sqrt (radius a1) by apply: Rmult_le_pos; lra.
by move=> sq; have := Rsqr_incr_0_var _ _ sq p; lra.
Qed.
End Gaps.
