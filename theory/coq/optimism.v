(** Theorem 1 of docs/theorems.md: R - E V <= cd r / sqrt n for every cd that bounds the function of [Hcd].
    [cd_small] and [cd_large] give such a constant; shared_rows.v names it c_d. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Coquelicot Require Import Rcomplements.
From Exml Require Import finite_probability concentration selection gram rademacher arm gradient_descent.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Dual.
Variables (T : finType) (K : T -> T -> R) (y : T -> R) (theta Lam kappa : R).
Hypotheses (Kpsd : psd K) (y1 : forall x, y x * y x = 1) (Kk : forall x, K x x <= kappa * kappa)
           (Htheta : 0 < theta < / 2) (Lam0 : 0 <= Lam) (k0 : 0 <= kappa).
Notation vec := (T -> R).
Notation dot := (dot K).
Notation nrm := (nrm K).
Notation ball := (ball K Lam).
Notation b := (b theta).
Notation L := (L (K := K) y theta (Lam := Lam)).
Notation plan := (T -> R * R).
Definition tri (l : plan) := forall x, 0 <= (l x).1 /\ 0 <= (l x).2 /\ (l x).1 + (l x).2 <= 1.
Definition ah (l : plan) x := / 2 * (l x).1 * y x.
Definition ag (l : plan) x := / 2 * (l x).1 - b * (l x).2.
Definition base (l : plan) x := (l x).1 + theta * (l x).2.
Definition pay (l : plan) (wh wg : vec) x :=
  (l x).1 * (1 + (dot wg (feat x) - y x * dot wh (feat x)) / 2) + (l x).2 * (theta - b * dot wg (feat x)).
Lemma payE l wh wg x : pay l wh wg x = base l x - dot (phi (ah l) x) wh + dot (phi (ag l) x) wg.
Proof. by rewrite /phi !dot_scal !(dotC Kpsd (feat x)) /pay /base /ah /ag; field. Qed.
Lemma piece2 s : theta * (1 - s / (1 - 2 * theta)) = theta - b * s.
Proof. by rewrite /arm.b; field; lra. Qed.
Lemma pay_le l f x : tri l -> pay l (sval f).1 (sval f).2 x <= L f x.
Proof.
move=> /(_ x) [l1 [l2 l12]]; rewrite /pay /arm.L /loss piece2 -/(h f x) -/(g f x).
set p1 := 1 + _; set p2 := theta - _.
have A := Rmax_l (Rmax p1 p2) 0; have B := Rmax_r (Rmax p1 p2) 0; have C := Rmax_l p1 p2; have D := Rmax_r p1 p2.
set m := Rmax (Rmax p1 p2) 0 in A B *.
have P1 : p1 <= m by lra.
have P2 : p2 <= m by lra.
have := Rmult_le_compat_l _ _ _ l1 P1; have := Rmult_le_compat_l _ _ _ l2 P2.
have := Rmult_le_compat_r _ _ _ B l12; lra.
Qed.
(** The piece that is active at f. *)
Definition active (f : ball) : plan := fun x =>
  let p1 := 1 + (g f x - y x * h f x) / 2 in let p2 := theta - b * g f x in
  if Rle_dec (Rmax p1 p2) 0 then (0, 0) else if Rle_dec p2 p1 then (1, 0) else (0, 1).
Lemma active_tri f : tri (active f).
Proof. by move=> x; rewrite /active; case: Rle_dec => ?; [|case: Rle_dec => ?] => /=; lra. Qed.
Lemma active_pay f x : pay (active f) (sval f).1 (sval f).2 x = L f x.
Proof.
rewrite /pay /arm.L /loss piece2 -/(h f x) -/(g f x) /active.
set p1 := 1 + _; set p2 := theta - _.
case: Rle_dec => [le|gt]; first by rewrite (Rmax_right _ 0) //=; lra.
rewrite (Rmax_left _ 0); last lra.
by case: Rle_dec => [le|lt] /=; [rewrite Rmax_left; lra | rewrite Rmax_right; lra].
Qed.

Section Law.
Variable d : fdist T.
Definition val l wh wg := ex d (pay l wh wg).
Lemma valE l wh wg : val l wh wg = ex d (base l) - dot (mu d (ah l)) wh + dot (mu d (ag l)) wg.
Proof.
rewrite !dot_mu -ex_sub -ex_add; apply: ex_ext => x; exact: payE.
Qed.
Definition dual l := ex d (base l) - Lam * nrm (mu d (ah l)) - Lam * nrm (mu d (ag l)).
Lemma dual_attained l : exists wh wg, nrm wh <= Lam /\ nrm wg <= Lam /\ dual l = val l wh wg.
Proof.
have [wg [Ng Eg]] := ball_attained Kpsd (mu d (ag l)) Lam0.
have [wh [Nh Eh]] := ball_attained Kpsd (mu d (ah l)) Lam0.
exists (fun z => -1 * wh z), wg; rewrite nrm_scal // Rabs_left; last lra.
split; [lra | split=> //]; rewrite valE dot_scal_r // !(dotC Kpsd (mu d _)) Eg Eh /dual; lra.
Qed.
Lemma K_ge0 x : 0 <= K x x. Proof. by rewrite -dot_feat; exact: dot_ge0. Qed.
Lemma mu_sq a : dot (mu d a) (mu d a) <= ex d (fun x => a x * a x * K x x).
Proof.
have E := @ex_mean_sq T K Kpsd d 1 a isT.
have : 0 <= ex (draws d 1) (fun s => dot (fun z => mean a s z - mu d a z) (fun z => mean a s z - mu d a z)).
  by apply: ex_ge0 => s; exact: dot_ge0.
by rewrite E /= Rdiv_1; lra.
Qed.
Definition Gam := (1 + b * b) * (kappa * kappa).
Lemma mu_Gam a : (forall x, a x * a x <= 1 + b * b) -> dot (mu d a) (mu d a) <= Gam.
Proof.
move=> H; apply: Rle_trans (mu_sq a) _; rewrite -[X in _ <= X](ex_const d); apply: ex_le => x.
have := Kk x; have := K_ge0 x; have := H x; have := Rle_0_sqr (a x); rewrite /Rsqr => ? ? ? ?.
by apply: Rmult_le_compat.
Qed.
Lemma ah_sq l x : tri l -> ah l x * ah l x <= / 4 * (l x).1.
Proof.
move=> /(_ x) [l1 [l2 l12]]; rewrite /ah.
have -> : / 2 * (l x).1 * y x * (/ 2 * (l x).1 * y x) = / 4 * ((l x).1 * (l x).1) * (y x * y x) by field.
rewrite y1; nra.
Qed.
Lemma b_ge0 : 0 <= b.
Proof. by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra]. Qed.
Lemma ag_sq l x : tri l -> ag l x * ag l x <= (l x).1 / 4 + b * b * (l x).2.
Proof.
move=> /(_ x); rewrite /ag; move: (l x).1 (l x).2 b_ge0 => p q B [p0 [q0 pq]].
have P : 0 <= p * (1 - p) by apply: Rmult_le_pos; lra.
have Q : 0 <= q * (1 - q) by apply: Rmult_le_pos; lra.
have BB : 0 <= b * b by nra.
have X : 0 <= b * b * (q * (1 - q)) by apply: Rmult_le_pos.
have Y : 0 <= b * (p * q) by apply: Rmult_le_pos => //; apply: Rmult_le_pos.
nra.
Qed.

Section Run.
Variable (eta : R).
Hypothesis eta0 : 0 < eta.
Definition next (f : ball) : ball := exist _
  (proj K Lam (fun z => (sval f).1 z - eta * - mu d (ah (active f)) z),
   proj K Lam (fun z => (sval f).2 z - eta * mu d (ag (active f)) z))
  (conj (proj_in Kpsd Lam0 _) (proj_in Kpsd Lam0 _)).
Definition st t : ball := iter t next (ball0 K Lam0).
Definition avg N : plan := fun x => (/ INR N * \rsum_(t : 'I_N) (active (st t) x).1, / INR N * \rsum_(t : 'I_N) (active (st t) x).2).
Lemma avg_tri N : (0 < N)%N -> tri (avg N).
Proof.
move=> N0 x; have Hn := INR_pos N0; have In := Rinv_0_lt_compat _ Hn; split; [|split] => /=.
- by apply: Rmult_le_pos; [lra | apply: rsum_ge0 => t _; case: (active_tri (st t) x)].
- by apply: Rmult_le_pos; [lra | apply: rsum_ge0 => t _; case: (active_tri (st t) x) => _ []].
- rewrite -Rmult_plus_distr_l -rsum_add; apply: (Rmult_le_reg_l (INR N)) => //.
  rewrite -Rmult_assoc Rinv_r ?Rmult_1_l ?Rmult_1_r; last lra.
  apply: (Rle_trans _ (\rsum_(t : 'I_N) 1)); last by rewrite rsum_const card_ord; lra.
  by apply: rsum_le => t _; case: (active_tri (st t) x) => _ [].
Qed.
Lemma val_avg N wh wg : val (avg N) wh wg = / INR N * \rsum_(t : 'I_N) val (active (st t)) wh wg.
Proof.
rewrite /val -ex_rsum -ex_mull; apply: ex_ext => x.
rewrite /pay rsum_add -!rsum_mulr /avg /=.
set S1 := \big[_/_]_t _; set S2 := \big[_/_]_t _; ring.
Qed.
Lemma certificate N : (0 < N)%N -> popmin d L - (4 * (Lam * Lam) / (eta * INR N) + eta * Gam) <= dual (avg N).
Proof.
move=> N0; have Hn := INR_pos N0.
have [wh [wg [Nh [Ng ->]]]] := dual_attained (avg N).
have B0 : nrm (fun _ : T => 0) <= Lam by rewrite /arm.b /gram.nrm dot0 sqrt_0.
have Rh := @regret_mean T K Lam Kpsd Lam0 (fun t => (sval (st t)).1) (fun t z => - mu d (ah (active (st t))) z) eta Gam eta0 B0.
have Rg := @regret_mean T K Lam Kpsd Lam0 (fun t => (sval (st t)).2) (fun t => mu d (ag (active (st t)))) eta Gam eta0 B0.
have BB := Rle_0_sqr b; rewrite /Rsqr in BB.
have {}Rh := Rh (fun t z => erefl) _ wh N N0 Nh.
have {}Rg := Rg (fun t z => erefl) _ wg N N0 Ng.
have H1 t : dot (fun z => - mu d (ah (active (st t))) z) (fun z => - mu d (ah (active (st t))) z) <= Gam.
  have -> : dot (fun z => - mu d (ah (active (st t))) z) (fun z => - mu d (ah (active (st t))) z) = dot (mu d (ah (active (st t)))) (mu d (ah (active (st t)))).
    rewrite (dot_ext K (u' := fun z => -1 * mu d (ah (active (st t))) z) (v' := fun z => -1 * mu d (ah (active (st t))) z)) => [| z | z]; try ring.
    by rewrite dot_scal dot_scal_r //; ring.
  apply: mu_Gam => x; have := ah_sq x (active_tri (st t)); have := active_tri (st t) x; lra.
have H2 t : dot (mu d (ag (active (st t)))) (mu d (ag (active (st t)))) <= Gam.
  apply: mu_Gam => x; have := ag_sq x (active_tri (st t)); have [p0 [q0 pq]] := active_tri (st t) x; nra.
have {}Rh := Rh H1; have {}Rg := Rg H2.
rewrite val_avg.
have V t : popmin d L - dot (fun z => - mu d (ah (active (st t))) z) (fun z => (sval (st t)).1 z - wh z)
   - dot (mu d (ag (active (st t)))) (fun z => (sval (st t)).2 z - wg z) <= val (active (st t)) wh wg.
  have P : popmin d L <= val (active (st t)) (sval (st t)).1 (sval (st t)).2.
    rewrite /val (ex_ext (L (st t))) => [|x]; last exact: active_pay.
    by apply: (inf_le (ball0 K Lam0)); apply: bnd_ex => x; apply: L_bnd; eauto.
  have E : dot (fun z => - mu d (ah (active (st t))) z) (fun z => (sval (st t)).1 z - wh z)
    = - (dot (mu d (ah (active (st t)))) (sval (st t)).1 - dot (mu d (ah (active (st t)))) wh).
    rewrite (dot_ext K (u' := fun z => -1 * mu d (ah (active (st t))) z) (v' := fun z => (sval (st t)).1 z - wh z)) => [| z | z //]; last by ring.
    by rewrite dot_scal dot_sub_r //; ring.
  rewrite E dot_sub_r //; rewrite !valE in P *; lra.
have S := rsum_le (P := xpredT) (fun (t : 'I_N) _ => V t).
rewrite !rsum_sub rsum_const card_ord in S.
move: Rh Rg S; set S1 := \big[_/_]_t _; set S2 := \big[_/_]_t _; set S3 := \big[_/_]_t _ => Rh Rg S.
apply: (Rle_trans _ (/ INR N * (INR N * popmin d L - S1 - S2))); last by apply: Rmult_le_compat_l => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
have -> : / INR N * (INR N * popmin d L - S1 - S2) = popmin d L - S1 / INR N - S2 / INR N by field; lra.
have -> : 4 * (Lam * Lam) / (eta * INR N) = 2 * (Lam * Lam) / (eta * INR N) + 2 * (Lam * Lam) / (eta * INR N) by field; lra.
lra.
Qed.
End Run.

(** Weak duality on a sample, and the mean of its right side. *)
Section Sample.
Variable n : nat.
Hypothesis n0 : (0 < n)%N.
Let Hn : 0 < INR n. Proof. exact: INR_pos. Qed.
Lemma weak_duality l (s : {ffun 'I_n -> T}) : tri l ->
  / INR n * (\rsum_i base l (s i)) - Lam * nrm (mean (ah l) s) - Lam * nrm (mean (ag l) s) <= score L s.
Proof.
move=> Hl; have In := Rinv_0_lt_compat _ Hn.
apply: (inf_ge (ball0 K Lam0)) => f.
apply: (Rle_trans _ (/ INR n * \rsum_i pay l (sval f).1 (sval f).2 (s i))); last first.
  by apply: Rmult_le_compat_l; [lra | apply: rsum_le => i _; exact: pay_le].
rewrite [X in _ <= _ * X](eq_bigr (fun i => base l (s i) - dot (phi (ah l) (s i)) (sval f).1 + dot (phi (ag l) (s i)) (sval f).2)) => [|i _]; last exact: payE.
rewrite [X in _ <= _ * X]rsum_add [X in _ <= _ * (X + _)]rsum_sub Rmult_plus_distr_l Rmult_minus_distr_l -!dot_mean.
have H a w : nrm w <= Lam -> Rabs (dot (mean a s) w) <= Lam * nrm (mean a s).
  move=> Hw; apply: Rle_trans (cauchy_abs Kpsd _ _) _; rewrite Rmult_comm.
  by apply: Rmult_le_compat_r => //; exact: nrm_ge0.
have [F1 F2] := svalP f.
have := H (ah l) _ F1; have := H (ag l) _ F2 => /Rabs_between A /Rabs_between B.
set S := / INR n * _; lra.
Qed.
Lemma mean_norm a A : ex d (fun x => a x * a x * K x x) <= A ->
  ex (draws d n) (fun s => nrm (mean a s)) <= nrm (mu d a) + sqrt (A / INR n).
Proof.
move=> HA.
have D : ex (draws d n) (fun s => nrm (fun z => mean a s z - mu d a z)) <= sqrt (A / INR n).
  apply: Rle_trans (ex_sqrt (draws d n) (fun s => dot_ge0 Kpsd _)) _.
  rewrite ex_mean_sq //; apply: sqrt_le_1_alt; apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
  by have := dot_ge0 Kpsd (mu d a); lra.
apply: Rle_trans (Rplus_le_compat_l (nrm (mu d a)) _ _ D).
rewrite -[X in _ <= X + _](ex_const (draws d n)) -ex_add; apply: ex_le => s.
by have := nrm_diff Kpsd (mean a s) (mu d a); lra.
Qed.
Variable cd : R.
Hypothesis Hcd : forall q, 0 <= q <= 1 -> sqrt q / 2 + sqrt (q / 4 + (1 - q) * (b * b)) <= cd.
Lemma dual_mean l : tri l -> dual l - cd * (kappa * Lam) / sqrt (INR n) <= ex (draws d n) (score (n := n) L).
Proof.
move=> Hl; have Hs := sqrt_lt_R0 _ Hn.
pose q := ex d (fun x => (l x).1).
have q1 : 0 <= q <= 1 by apply: ex_bounds => x; have := Hl x; lra.
have kk : 0 <= kappa * kappa by nra.
have BB := Rle_0_sqr b; rewrite /Rsqr in BB.
have A1 : ex d (fun x => ah l x * ah l x * K x x) <= q / 4 * (kappa * kappa).
  rewrite /q /Rdiv -!ex_mulr; apply: ex_le => x; have := ah_sq x Hl; have := Kk x; have := K_ge0 x.
  have := Rle_0_sqr (ah l x); rewrite /Rsqr => ? ? ? ?.
  by apply: Rmult_le_compat => //; lra.
have A2 : ex d (fun x => ag l x * ag l x * K x x) <= (q / 4 + (1 - q) * (b * b)) * (kappa * kappa).
  have -> : (q / 4 + (1 - q) * (b * b)) * (kappa * kappa) = ex d (fun x => ((l x).1 / 4 + (1 - (l x).1) * (b * b)) * (kappa * kappa)).
    by rewrite ex_mulr ex_add /Rdiv !ex_mulr ex_sub ex_const.
  apply: ex_le => x; have := ag_sq x Hl; have := Kk x; have := K_ge0 x; have [p0 [p1 p2]] := Hl x.
  have := Rle_0_sqr (ag l x); rewrite /Rsqr => ? ? ? ?.
  by apply: Rmult_le_compat => //; nra.
have M1 := mean_norm A1; have M2 := mean_norm A2.
have E1 : sqrt (q / 4 * (kappa * kappa) / INR n) = sqrt q / 2 * (kappa / sqrt (INR n)).
  have -> : q / 4 * (kappa * kappa) / INR n = q * (kappa / 2 * (kappa / 2)) / INR n by field; lra.
  rewrite sqrt_div_alt // sqrt_mult_alt; last lra.
  by rewrite sqrt_square; [field; lra | lra].
have E2 : sqrt ((q / 4 + (1 - q) * (b * b)) * (kappa * kappa) / INR n) = sqrt (q / 4 + (1 - q) * (b * b)) * (kappa / sqrt (INR n)).
  have ge : 0 <= q / 4 + (1 - q) * (b * b) by apply: Rplus_le_le_0_compat; [lra | apply: Rmult_le_pos; lra].
  by rewrite sqrt_div_alt // sqrt_mult_alt // sqrt_square //; field; lra.
rewrite E1 in M1; rewrite E2 in M2.
have W := ex_le (draws d n) (fun s => weak_duality s Hl).
rewrite !ex_sub !ex_mull ex_rsum (eq_bigr (fun _ => ex d (base l))) in W; last by move=> i _; exact: (ex_marginal d i (base l)).
rewrite rsum_const card_ord -Rmult_assoc Rinv_l ?Rmult_1_l in W; last lra.
have C := Hcd q1.
have ks : 0 <= Lam * (kappa / sqrt (INR n)).
  by apply: Rmult_le_pos => //; apply: Rmult_le_pos => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
have X := Rmult_le_compat_r _ _ _ ks C.
have Y1 := Rmult_le_compat_l _ _ _ Lam0 M1; have Y2 := Rmult_le_compat_l _ _ _ Lam0 M2.
have -> : cd * (kappa * Lam) / sqrt (INR n) = cd * (Lam * (kappa / sqrt (INR n))) by field; lra.
rewrite /dual; lra.
Qed.
(** Theorem 1. *)
Theorem theorem_1 : popmin d L - cd * (kappa * Lam) / sqrt (INR n) <= ex (draws d n) (score (n := n) L).
Proof.
apply: le_epsilon => eps eps0.
have G0 : 0 <= Gam by apply: Rmult_le_pos; [have := Rle_0_sqr b; rewrite /Rsqr; lra | nra].
have LL : 0 <= Lam * Lam by nra.
pose eta := eps / (2 * (Gam + 1)).
have eta0 : 0 < eta by apply: Rdiv_lt_0_compat; lra.
have e2 : 0 < eps * eta / (8 * (Lam * Lam) + 1) by apply: Rdiv_lt_0_compat; [exact: Rmult_lt_0_compat | lra].
have [N [HN N0]] := archimed_cor1 _ e2.
have {}N0 : (0 < N)%N by apply/ltP.
have HNp := INR_pos N0.
have B1 : eta * Gam <= eps / 2.
  have -> : eta * Gam = eps / 2 * (Gam / (Gam + 1)) by rewrite /eta; field; lra.
  have : Gam / (Gam + 1) <= 1 by apply/Rle_div_l; lra.
  have : 0 <= eps / 2 by lra.
  nra.
have B2 : 4 * (Lam * Lam) / (eta * INR N) <= eps / 2.
  have -> : 4 * (Lam * Lam) / (eta * INR N) = 4 * (Lam * Lam) / eta * / INR N by field; lra.
  apply: (Rle_trans _ (4 * (Lam * Lam) / eta * (eps * eta / (8 * (Lam * Lam) + 1)))).
    apply: Rmult_le_compat_l; last exact: Rlt_le.
    by apply: Rdiv_le_0_compat => //; lra.
  have -> : 4 * (Lam * Lam) / eta * (eps * eta / (8 * (Lam * Lam) + 1)) = eps / 2 * (8 * (Lam * Lam) / (8 * (Lam * Lam) + 1)) by field; lra.
  have : 8 * (Lam * Lam) / (8 * (Lam * Lam) + 1) <= 1 by apply/Rle_div_l; lra.
  have : 0 <= eps / 2 by lra.
  nra.
have C := certificate eta0 N0.
have D := dual_mean (avg_tri eta N0).
lra.
Qed.
End Sample.
End Law.
End Dual.

(** The constant c_d. *)
Lemma cd_small bb q : bb <= / 2 -> 0 <= q <= 1 -> sqrt q / 2 + sqrt (q / 4 + (1 - q) * bb) <= 1.
Proof.
move=> Hb Hq; have U := sqrt_pos q; have S := sqrt_sqrt q (proj1 Hq).
have u1 : sqrt q <= 1 by rewrite -sqrt_1; apply: sqrt_le_1_alt; lra.
suff : sqrt (q / 4 + (1 - q) * bb) <= 1 - sqrt q / 2 by lra.
have p0 : 0 <= 1 - sqrt q / 2 by lra.
rewrite -(sqrt_square _ p0); apply: sqrt_le_1_alt.
have : (1 - q) * bb <= (1 - q) * / 2 by apply: Rmult_le_compat_l; lra.
by have := Rle_0_sqr (1 - sqrt q); rewrite /Rsqr; nra.
Qed.
Lemma cd_large bb q : / 4 < bb -> 0 <= q <= 1 -> sqrt q / 2 + sqrt (q / 4 + (1 - q) * bb) <= 2 * bb / sqrt (4 * bb - 1).
Proof.
move=> Hb Hq; have U := sqrt_pos q; have S := sqrt_sqrt q (proj1 Hq).
have ge : 0 <= q / 4 + (1 - q) * bb by nra.
have V := sqrt_pos (q / 4 + (1 - q) * bb); have SV := sqrt_sqrt _ ge.
have Z0 : 0 < 4 * bb - 1 by lra.
have Z := sqrt_lt_R0 _ Z0; have SZ := sqrt_sqrt _ (Rlt_le _ _ Z0).
move: (sqrt q) (sqrt (q / 4 + (1 - q) * bb)) (sqrt (4 * bb - 1)) U S V SV Z SZ => u v z U S V SV Z SZ.
apply/Rle_div_r => //.
have P : 0 <= (u / 2 + v) * z by apply: Rmult_le_pos; lra.
apply: Rnot_lt_le => lt.
have Q : (2 * bb) * (2 * bb) < ((u / 2 + v) * z) * ((u / 2 + v) * z) by apply: Rmult_le_0_lt_compat => //; lra.
have W := Rle_0_sqr (v - u * (z * z) / 2); rewrite /Rsqr in W.
have E : ((u / 2 + v) * z) * ((u / 2 + v) * z) = (u / 2 + v) * (u / 2 + v) * (z * z) by ring.
rewrite E SZ in Q; rewrite SZ in W.
nra.
Qed.
