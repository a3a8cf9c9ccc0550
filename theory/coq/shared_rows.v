(** Theorems 2 and 3 (a), (b) of docs/theorems.md for arms that share their rows, as counts of samples, with D = M (the
    smaller D of Lemma B and the relative-entropy form of Theorem 3 (b) are not proved here). *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset path.
From Exml Require Import finite_probability concentration selection gram rademacher arm affine gradient_descent optimism.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition c_d (theta : R) : R :=
  if Rle_dec (b theta * b theta) (/ 2) then 1 else 2 * (b theta * b theta) / sqrt (4 * (b theta * b theta) - 1).
Lemma c_dP theta q : 0 <= q <= 1 -> sqrt q / 2 + sqrt (q / 4 + (1 - q) * (b theta * b theta)) <= c_d theta.
Proof.
move=> Hq; rewrite /c_d; case: Rle_dec => [le|ng]; first exact: cd_small.
by apply: cd_large => //; have := Rnot_le_gt _ _ ng; lra.
Qed.

Section Shared.
Variables (m n : nat) (x0 : 'I_m) (I : finType) (best : I) (K : I -> 'I_m -> 'I_m -> R) (y : 'I_m -> R) (theta Lam kappa : R).
Hypotheses (Kpsd : forall i, psd (K i)) (y1 : forall x, y x * y x = 1) (Kk : forall i x, K i x x <= kappa * kappa)
           (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa) (n0 : (0 < n)%N).
Notation r := (kappa * Lam).
Notation Mr := (arm.M theta Lam kappa).
Notation V := (affine.V (n := n) K y theta Lam).
Notation risk := (affine.risk x0 K y theta Lam).
Definition x_ i := risk i - risk best - c_d theta * r / sqrt (INR n).
Lemma optimism_1 i : risk i - c_d theta * r / sqrt (INR n) <= ex (draws (unif x0) n) (V i).
Proof.
apply: (theorem_1 (Kpsd i) y1 (Kk i) Htheta (Rlt_le _ _ Lam0) (Rlt_le _ _ k0) (unif x0) n0) => q Hq; exact: c_dP.
Qed.
Lemma V_diff i : bdiff (V i) (fun _ => Mr / INR n).
Proof.
apply: (score_diff (ball0 (K i) (Rlt_le _ _ Lam0)) n0).
- by move=> x; apply: L_bnd; eauto using Rlt_le.
- by move=> f x x'; apply: L_diff; eauto using Rlt_le.
Qed.
Lemma V_mean i : ex (draws (unif x0) n) (V i) <= risk i.
Proof.
by apply: (score_mean (ball0 (K i) (Rlt_le _ _ Lam0)) (unif x0) n0) => x; apply: L_bnd; eauto using Rlt_le.
Qed.
Lemma Mr_pos : 0 < Mr. Proof. exact: (M_pos Htheta Lam0 k0). Qed.

(** Theorem 2: the fraction of the m^n samples on which arm i beats the best arm. *)
Theorem theorem_2 i :
  INR #|[pred s | geb (V best s) (V i s)]| / INR m ^ n <= exp (- (INR n * (pos (x_ i) * pos (x_ i)) / (2 * (Mr * Mr)))).
Proof.
rewrite -[in INR m ^ n](card_ord m) -(pr_draws_unif x0 (fun s => geb (V best s) (V i s))).
apply: (pairwise n0 Mr_pos (V_diff best) (V_diff i)).
by have := V_mean best; have := optimism_1 i; rewrite /x_; lra.
Qed.
Variable sel : {ffun 'I_n -> 'I_m} -> I.
Hypothesis smallest : forall s i, V (sel s) s <= V i s.
Notation failures := (INR #|[pred s | rival best risk (sel s)]| / INR m ^ n).

Theorem theorem_3_a : failures <= \rsum_(i | rival best risk i) exp (- (INR n * (pos (x_ i) * pos (x_ i)) / (2 * (Mr * Mr)))).
Proof. exact: (shared_selection best Kpsd y1 Kk Htheta Lam0 k0 n0 smallest optimism_1). Qed.

Theorem theorem_3_b a : 0 <= a ->
  failures <= exp (- (2 * INR n * (a * a) / (Mr * Mr)))
    + \rsum_(i | rival best risk i) exp (- (2 * INR n * (pos (x_ i - a) * pos (x_ i - a)) / (Mr * Mr))).
Proof.
move=> a0; rewrite -[in INR m ^ n](card_ord m) -(pr_draws_unif x0 (fun s => rival best risk (sel s))).
have MM : 0 < Mr * Mr by have := Mr_pos; nra.
apply: (Rle_trans _ (pr (draws (unif x0) n) (fun s => geb (V best s) (risk best + a)
    || [exists i, rival best risk i && geb (risk best + a) (V i s)]))).
  apply: pr_sub => s rs; apply/orP.
  case: (Rle_dec (risk best + a) (V best s)) => [le|ng]; first by left; apply/gebP.
  right; apply/existsP; exists (sel s); rewrite rs; apply/gebP.
  by have := smallest s best; have := Rnot_le_gt _ _ ng; lra.
apply: Rle_trans (pr_or _ _ _) _; apply: Rplus_le_compat.
  apply: Rle_trans (score_high (unif x0) n0 Mr_pos (V_diff best) a0).
  by apply: pr_sub => s /gebP l; apply/gebP; have := V_mean best; lra.
apply: Rle_trans (pr_union _ _ _) _; apply: rsum_le => i _.
case: (Rle_dec (x_ i - a) 0) => [le|ng].
  rewrite /pos Rmax_left // (_ : - _ = 0) ?exp_0; first exact: pr_le1.
  by field; have := Mr_pos; lra.
have gt := Rnot_le_gt _ _ ng; rewrite /pos Rmax_right; last lra.
have t0 : 0 <= x_ i - a by lra.
apply: Rle_trans (score_low (unif x0) n0 Mr_pos (V_diff i) t0).
by apply: pr_sub => s /gebP l; apply/gebP; have := optimism_1 i; rewrite /x_; lra.
Qed.
(** Theorem 6 (iv): with probability at least 1 - delta the selected arm is not much worse than the best, whatever the gaps are. *)
Theorem theorem_6_iv delta : (1 < #|I|)%N -> 0 < delta < 1 ->
  let far i := ~~ geb (risk best + c_d theta * r / sqrt (INR n) + Mr * sqrt (2 * ln (INR #|I|.-1 / delta) / INR n)) (risk i) in
  INR #|[pred s | far (sel s)]| / INR m ^ n <= delta.
Proof.
move=> K1 Hd far; have Hn := INR_pos n0; have HM := Mr_pos; have MM : 0 < Mr * Mr by nra.
have K0 : (0 < #|I|.-1)%N by rewrite -ltnS prednK // ltnW.
have Hk := INR_pos K0; have k1 : 1 <= INR #|I|.-1 by rewrite -[1]/(INR 1); apply: le_INR; apply/leP.
pose lv := INR #|I|.-1 / delta; pose t := Mr * sqrt (2 * ln lv / INR n).
have L : 0 <= ln lv.
  rewrite -ln_1; apply: Rlt_le; apply: ln_increasing; first lra.
  by apply: (Rmult_lt_reg_r delta); [lra | rewrite /lv /Rdiv Rmult_assoc Rinv_l; lra].
have t0 : 0 <= t by apply: Rmult_le_pos; [lra | exact: sqrt_pos].
have tt : INR n * (t * t) / (2 * (Mr * Mr)) = ln lv.
  have -> : t * t = Mr * Mr * (sqrt (2 * ln lv / INR n) * sqrt (2 * ln lv / INR n)) by rewrite /t; ring.
  rewrite sqrt_sqrt; first by field; lra.
  by apply: Rmult_le_pos; [lra | apply: Rlt_le; exact: Rinv_0_lt_compat].
rewrite -[in INR m ^ n](card_ord m) -(pr_draws_unif x0 (fun s => far (sel s))).
have fb : ~~ far best.
  rewrite negbK; apply/gebP; rewrite -/t; have : 0 <= c_d theta * r / sqrt (INR n).
    have := optimism_1 best; have := V_mean best; lra.
  lra.
apply: (Rle_trans _ (pr (draws (unif x0) n) (fun s => [exists i, far i && geb (V best s) (V i s)]))).
  by apply: pr_sub => s fs; apply/existsP; exists (sel s); rewrite fs; apply/gebP.
apply: Rle_trans (pr_union _ far (fun i s => geb (V best s) (V i s))) _.
apply: (Rle_trans _ (\rsum_(i | far i) (delta / INR #|I|.-1))).
  apply: rsum_le => i /negP fi.
  have gt : t < x_ i by apply: Rnot_le_lt => le; apply: fi; apply/gebP; rewrite -/t; move: le; rewrite /x_; lra.
  have P : ex (draws (unif x0) n) (V best) + x_ i <= ex (draws (unif x0) n) (V i).
    by have := V_mean best; have := optimism_1 i; rewrite /x_; lra.
  apply: Rle_trans (pairwise n0 HM (V_diff best) (V_diff i) P) _.
  have -> : delta / INR #|I|.-1 = exp (- ln lv).
    by rewrite exp_Ropp exp_ln /lv; [field; lra | apply: Rdiv_lt_0_compat; lra].
  rewrite -tt; apply: exp_le; apply: Ropp_le_contravar; apply: Rmult_le_compat_r.
    by apply: Rlt_le; apply: Rinv_0_lt_compat; lra.
  apply: Rmult_le_compat_l; first lra.
  by rewrite /pos Rmax_right; [apply: Rmult_le_compat; lra | lra].
rewrite rsum_const_pred; apply: (Rle_trans _ (INR #|I|.-1 * (delta / INR #|I|.-1))); last by apply: Req_le; field; lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; apply: Rdiv_lt_0_compat; lra.
apply: le_INR; apply/leP; rewrite -ltnS prednK; last exact: ltnW.
by rewrite -(cardC far) -addn1 leq_add2l; apply/card_gt0P; exists best; rewrite inE.
Qed.
End Shared.

(** A rule that keeps the better half exists, so the hypotheses on [keep] can be met. *)
Lemma keep_exists (I : finType) (v : I -> R) (A : {set I}) k : (k <= #|A|)%N ->
  exists B : {set I}, [/\ B \subset A, #|B| = k & forall i j, i \in B -> j \in A -> j \notin B -> v i <= v j].
Proof.
elim: k => [|k IH] kA; first by exists set0; split; [exact: sub0set | exact: cards0 | move=> i j; rewrite inE].
have [B [BA cB HB]] := IH (ltnW kA).
have : A :\: B != set0.
  by rewrite -card_gt0 cardsD (setIidPr BA) cB subn_gt0.
case/set0Pn => j0 j0in.
have [j [jin Hj]] : exists j, j \in A :\: B /\ forall i, i \in A :\: B -> v j <= v i.
  have : forall s : seq I, s != [::] -> exists j, j \in s /\ forall i, i \in s -> v j <= v i.
    elim=> [//|x [|z s] IHs] _; first by exists x; rewrite inE eqxx; split=> // i; rewrite inE => /eqP ->; lra.
    have [//|j [jin Hj]] := IHs.
    case: (Rle_dec (v j) (v x)) => [le|ng].
      by exists j; rewrite inE jin orbT; split=> // i; rewrite inE => /orP [/eqP ->|/Hj].
    exists x; rewrite inE eqxx; split=> // i; rewrite inE => /orP [/eqP ->|/Hj]; first lra.
    by have := Rnot_le_gt _ _ ng; lra.
  move=> /(_ (enum (A :\: B))) []; first by apply/eqP => e; have := mem_enum (mem (A :\: B)) j0; rewrite e j0in.
  by move=> j [jin Hj]; exists j; rewrite -mem_enum; split=> // i ii; apply: Hj; rewrite mem_enum.
move: (jin); rewrite inE => /andP [jB jA].
exists (j |: B); split.
- by rewrite subUset sub1set jA.
- by rewrite cardsU1 jB cB.
- move=> i i'; rewrite !inE => /orP [/eqP ->|iB] i'A; rewrite negb_or => /andP [ne i'B].
    by apply: Hj; rewrite inE i'B.
  exact: HB.
Qed.
