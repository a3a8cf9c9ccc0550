(** The paper's Lemmas 1 (ii) and 2 (ii), corrected, and Theorem 6 (i) of docs/theorems.md with the constant 2 c* of
    Lemma E. The learned model need not attain the score: its empirical risk is at most eps above it. For eps > 0 such a
    model exists ([learned_exists]). *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import finite_probability concentration selection gram rademacher arm uniform_allocation median_elimination.
From Exml Require Import median_elimination_arms registry_arms printed_form.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** An infimum is approached. *)
Lemma inf_approached (W : Type) (w0 : W) (F : W -> R) eps : bnd F -> 0 < eps -> exists w, F w <= inf F + eps.
Proof.
move=> B e0; apply: Classical_Prop.NNPP => none.
have : inf F + eps <= inf F.
  apply: inf_ge => // w; apply: Rnot_lt_le => lt; apply: none; exists w; lra.
lra.
Qed.

(** Choice over a finite type needs no axiom. *)
Lemma finite_choice (T : finType) (W : Type) (w0 : W) (P : T -> W -> Prop) :
  (forall x, exists w, P x w) -> exists F : T -> W, forall x, P x (F x).
Proof.
move=> H; suff : forall l : seq T, exists F : T -> W, forall x, x \in l -> P x (F x).
  by move=> /(_ (enum T)) [F HF]; exists F => x; apply: HF; rewrite mem_enum.
elim=> [|y l [F HF]]; first by exists (fun _ => w0).
have [w Pw] := H y; exists (fun x => if x == y then w else F x) => x.
by rewrite inE; case: eqP => [->|_] //= /HF.
Qed.

Section Regret.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Notation arm := (arm kappa).
Notation r := (arm.r Lam kappa).
Notation M := (arm.M theta Lam kappa).
Notation V := (Varm theta Lam).
Notation risk := (Rarm theta Lam).
Notation surr a := (@uniform_allocation.surr theta Lam kappa a).
Let sb (a : arm) := @surr_bnd theta Lam kappa Htheta k0 a.

(** The deviation of n rows at a level: M sqrt(ln(level) / 2n). *)
Definition dev (n : nat) (level : R) : R := M * sqrt (ln level / (2 * INR n)).

Theorem learned_exists (a : arm) n eps : 0 < eps ->
  exists learned : {ffun 'I_n -> rows a} -> ball (gram_of a) Lam, forall s, emp (surr a) s (learned s) <= V s + eps.
Proof.
move=> e0; apply: (finite_choice (zero Lam0 a) (P := fun s f => emp (surr a) s f <= V s + eps)) => s.
exact: (inf_approached (zero Lam0 a) (bnd_emp (@sb a) s) e0).
Qed.

(** All models of an arm: the risk exceeds the empirical risk by the optimism and the deviation. *)
Lemma deviation_high (a : arm) n delta : (0 < n)%N -> 0 < delta < 1 ->
  pr (draws (distribution a) n)
    (fun s => geb (supdev (distribution a) (surr a) s) (optimism theta Lam kappa n + dev n (1 / delta))) <= delta.
Proof.
move=> n0 Hd; have [t0 E] := level Htheta Lam0 k0 n0 Hd; rewrite -/(dev n (1 / delta)) in t0 E.
have B := supdev_diff (zero Lam0 a) (distribution a) n0 (@sb a) (@surr_diff theta Lam kappa Htheta k0 a).
have O : ex (draws (distribution a) n) (supdev (distribution a) (surr a)) <= optimism theta Lam kappa n.
  exact: (arm_optimism (gram_psd a) (label_sq a) (gram_diag a) Htheta (Rlt_le _ _ Lam0) (Rlt_le _ _ k0) (distribution a) n0).
apply: Rle_trans (Req_le _ _ E); apply: Rle_trans (score_high (distribution a) n0 (M_pos Htheta Lam0 k0) B t0).
by apply: pr_sub => s /gebP l; apply/gebP; lra.
Qed.
Lemma score_level (a : arm) n delta : (0 < n)%N -> 0 < delta < 1 ->
  pr (draws (distribution a) n) (fun s => geb (V s) (risk a + dev n (1 / delta))) <= delta.
Proof.
move=> n0 Hd; have [t0 E] := level Htheta Lam0 k0 n0 Hd; rewrite -/(dev n (1 / delta)) in t0 E.
by apply: Rle_trans (Req_le _ _ E); exact: arm_high.
Qed.

Variables (I : finType) (a : I -> arm) (n : nat) (Omega : finType) (J : fdist Omega)
          (X : forall i, Omega -> {ffun 'I_n -> rows (a i)}) (sel : Omega -> I) (eps delta : R)
          (learned : forall i, {ffun 'I_n -> rows (a i)} -> ball (gram_of (a i)) Lam).
Hypotheses (n0 : (0 < n)%N)
  (HX : forall i f, ex J (fun w => f (X i w)) = ex (draws (distribution (a i)) n) f)
  (Hd : 0 < delta < 1) (Hl : forall i s, emp (surr (a i)) s (learned s) <= V s + eps).
(** The risk of the learned model on the training set. *)
Definition learned_risk i w : R := ex (distribution (a i)) (surr (a i) (learned (X i w))).

Lemma marginal i (A : pred {ffun 'I_n -> rows (a i)}) : pr J (fun w => A (X i w)) = pr (draws (distribution (a i)) n) A.
Proof. exact: (HX (fun s => ind (A s))). Qed.
Lemma learned_dev i w : learned_risk i w <= V (X i w) + eps + supdev (distribution (a i)) (surr (a i)) (X i w).
Proof.
have := sup_ge (zero Lam0 (a i)) (learned (X i w)) (bnd_dev (distribution (a i)) (@sb (a i)) (X i w)).
by have := Hl (X i w); rewrite /learned_risk -/(supdev (distribution (a i)) (surr (a i)) (X i w)); lra.
Qed.

Section Members.
(** P is a set of arms: the best ones, or all. *)
Variable P : pred I.
Hypothesis P0 : (0 < #|P|)%N.
Notation share := (delta / (2 * INR #|P|)).
Notation two := (2 * INR #|P| / delta).
Let c0 : 0 < INR #|P|. Proof. exact: INR_pos. Qed.
Let share01 : 0 < share < 1.
Proof.
have c1 : 1 <= INR #|P| by rewrite -[1]/(INR 1); apply: INR_le.
split; first by apply: Rdiv_lt_0_compat; lra.
by apply: (Rmult_lt_reg_r (2 * INR #|P|)); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
Qed.
Let shareE : 1 / share = two. Proof. by field; lra. Qed.
Lemma members_dev :
  pr J (fun w => [exists i, P i && geb (supdev (distribution (a i)) (surr (a i)) (X i w)) (optimism theta Lam kappa n + dev n two)])
  <= delta / 2.
Proof.
apply: Rle_trans (pr_union J P _) _.
apply: (Rle_trans _ (\rsum_(i | P i) share)); last by rewrite rsum_const_pred; apply: Req_le; field; lra.
apply: rsum_le => i _; rewrite (marginal (fun s => geb (supdev (distribution (a i)) (surr (a i)) s) _)) -shareE.
exact: deviation_high.
Qed.
Lemma members_score :
  pr J (fun w => [exists i, P i && geb (V (X i w)) (risk (a i) + dev n two)]) <= delta / 2.
Proof.
apply: Rle_trans (pr_union J P _) _.
apply: (Rle_trans _ (\rsum_(i | P i) share)); last by rewrite rsum_const_pred; apply: Req_le; field; lra.
apply: rsum_le => i _; rewrite (marginal (fun s => geb (V s) _)) -shareE.
exact: score_level.
Qed.

(** A selected member of P with a smallest score: its risk on the training set, against the risk of any fixed arm. *)
Theorem regret_smallest (best : I) : (forall w i, V (X (sel w) w) <= V (X i w)) ->
  pr J (fun w => P (sel w) && geb (learned_risk (sel w) w - risk (a best))
      (optimism theta Lam kappa n + dev n two + dev n (2 / delta) + eps)) <= delta.
Proof.
move=> Hs; apply: (Rle_trans _ (delta / 2 + delta / 2)); last lra.
have B : pr J (fun w => geb (V (X best w)) (risk (a best) + dev n (2 / delta))) <= delta / 2.
  rewrite (marginal (fun s => geb (V s) _)); have -> : 2 / delta = 1 / (delta / 2) by field; lra.
  by apply: score_level => //; lra.
apply: Rle_trans (Rplus_le_compat _ _ _ _ members_dev B); apply: Rle_trans (pr_or _ _ _).
apply: pr_sub => w /andP [Ps /gebP l]; apply/orP.
case: (Rle_dec (risk (a best) + dev n (2 / delta)) (V (X best w))) => [le|/Rnot_le_gt gt]; first by right; apply/gebP.
left; apply/existsP; exists (sel w); rewrite Ps; apply/gebP.
by have := learned_dev (sel w) w; have := Hs w best; lra.
Qed.

(** A selected member of P, by any rule: its risk on the training set, against its own smallest risk. *)
Theorem regret_own : pr J (fun w => P (sel w) && geb (learned_risk (sel w) w - risk (a (sel w)))
      (optimism theta Lam kappa n + 2 * dev n two + eps)) <= delta.
Proof.
apply: (Rle_trans _ (delta / 2 + delta / 2)); last lra.
apply: Rle_trans (Rplus_le_compat _ _ _ _ members_dev members_score); apply: Rle_trans (pr_or _ _ _).
apply: pr_sub => w /andP [Ps /gebP l]; apply/orP.
case: (Rle_dec (risk (a (sel w)) + dev n two) (V (X (sel w) w))) => [le|/Rnot_le_gt gt].
  by right; apply/existsP; exists (sel w); rewrite Ps; apply/gebP.
left; apply/existsP; exists (sel w); rewrite Ps; apply/gebP.
by have := learned_dev (sel w) w; lra.
Qed.
End Members.

Variable best : I.
Notation S := (median_elimination_arms.S theta Lam a best).
Notation c := (paper_c theta).
Let in_S : best \in S. Proof. by rewrite inE; apply/gebP; lra. Qed.
Let S0 : (0 < #|S|)%N. Proof. by apply/card_gt0P; exists best. Qed.
Let optimism_c : optimism theta Lam kappa n <= (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)).
Proof.
have Hs := sqrt_lt_R0 _ (INR_pos n0); have Hr := r_pos Lam0 k0.
have -> : (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)) = 2 * c * r / sqrt (INR n) by rewrite /paper_c; field; lra.
rewrite /optimism; apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
by apply: Rmult_le_compat_r; [lra | have := cstar_le_c Htheta; lra].
Qed.
(** The regret bounds of Lemmas 1 (ii) and 2 (ii), corrected; s is the number of best arms. *)
Definition regret_1 (s : nat) : R :=
  (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)) + dev n (2 * INR s / delta) + dev n (2 / delta).
Definition regret_2 (s : nat) : R := (2 - 2 * theta) / (1 - 2 * theta) * (r / sqrt (INR n)) + 2 * dev n (2 * INR s / delta).

(** Uniform allocation selects a rival or has a large regret. *)
Lemma rival_or_regret : (forall w i, V (X (sel w) w) <= V (X i w)) ->
  pr J (fun w => (sel w \notin S) || geb (learned_risk (sel w) w - risk (a best)) (regret_1 #|S| + eps)) <=
  delta + pr J (fun w => sel w \notin S).
Proof.
move=> Hs; apply: Rle_trans (Rplus_le_compat_r _ _ _ (regret_smallest S0 best Hs)).
apply: Rle_trans (pr_or _ _ _); apply: pr_sub => w; case: (boolP (sel w \in S)) => [iS|_] /=; last by rewrite orbT.
move=> /gebP l; apply/orP; left; apply/andP; split; [exact: iS | apply/gebP].
by rewrite /regret_1 in l; move: optimism_c; lra.
Qed.
(** Lemma 1 (ii): uniform allocation, any rule for ties, any dependence between the rows of different arms.
    lemma-1-ii corrected, a2-term-b corrected. *)
Theorem lemma_1_ii : (forall w i, V (X (sel w) w) <= V (X i w)) ->
  pr J (fun w => geb (learned_risk (sel w) w - risk (a best)) (regret_1 #|S| + eps)) <=
  delta + pr J (fun w => sel w \notin S).
Proof. by move=> Hs; apply: Rle_trans (rival_or_regret Hs); apply: pr_sub => w ->; rewrite orbT. Qed.

(** Theorem 6 (i): no gap, no launch budget. K is the number of arms. *)
Theorem theorem_6_i : (forall w i, V (X (sel w) w) <= V (X i w)) ->
  pr J (fun w => geb (learned_risk (sel w) w - risk (a best))
      (optimism theta Lam kappa n + dev n (2 * INR #|I| / delta) + dev n (2 / delta) + eps)) <= delta.
Proof.
move=> Hs; have K0 : (0 < #|I|)%N by apply/card_gt0P; exists best.
have K0' : (0 < #|(predT : pred I)|)%N by [].
by apply: Rle_trans (regret_smallest K0' best Hs); apply: pr_sub.
Qed.

(** The same for an arm that was selected by any rule; n is the number of its rows. *)
Lemma rival_or_regret_any : (forall i, risk (a best) <= risk (a i)) ->
  pr J (fun w => (sel w \notin S) || geb (learned_risk (sel w) w - risk (a best)) (regret_2 #|S| + eps)) <=
  delta + pr J (fun w => sel w \notin S).
Proof.
move=> Hb; apply: Rle_trans (Rplus_le_compat_r _ _ _ (regret_own S0)).
apply: Rle_trans (pr_or _ _ _); apply: pr_sub => w; case: (boolP (sel w \in S)) => [iS|_] /=; last by rewrite orbT.
move=> /gebP l; apply/orP; left; apply/andP; split; [exact: iS | apply/gebP].
rewrite /regret_2 in l; move: optimism_c => O; move: iS; rewrite inE => /gebP iS; have := Hb (sel w); lra.
Qed.
End Regret.

(** Lemma 2 (ii): median elimination with accumulated rows. The selected arm is the one that is left; its rows are those
    of all rounds. *)
Section MedianElimination.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (I : finType) (a : I -> arm kappa) (best : I) (Delta : R) (B : nat).
Notation risk i := (Rarm theta Lam (a i)).
Notation S := (median_elimination_arms.S theta Lam a best).
Hypotheses (minimal : forall i, risk best <= risk i) (D0 : 0 < Delta)
           (gaps : forall i, i \notin S -> Delta <= risk i - risk best).
Variable keep : (I -> R) -> {set I} -> {set I}.
Hypotheses (keep_sub : forall v A, keep v A \subset A)
           (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j).
Notation n := (median_elimination_arms.n I B).
Hypothesis start : launched theta Lam kappa Delta (n 0).
Notation q := (q4 theta Lam kappa Delta).
Notation T := (median_elimination_arms.T I).
Notation N := (median_elimination_arms.N I B).
Variables (Omega : finType) (J : fdist Omega) (X : forall t i, Omega -> {ffun 'I_(N t) -> rows (a i)}) (sel : Omega -> I)
          (eps delta : R) (learned : forall i, {ffun 'I_(N T.-1) -> rows (a i)} -> ball (gram_of (a i)) Lam).
Notation alive := (alive keep (fun t w i => Varm theta Lam (X t i w)) T).
Hypotheses
  (HX : forall t i f, (t < T)%N -> ex J (fun w => f (X t i w)) = ex (draws (distribution (a i)) (N t)) f)
  (left_over : forall w, sel w \in alive w) (Hd : 0 < delta < 1)
  (Hl : forall i s, emp (@surr theta Lam kappa (a i)) s (learned s) <= Varm theta Lam s + eps).

Lemma selected_lost w : sel w \notin S -> lost S (alive w).
Proof.
move=> out; have /eqP/cards1P [i Ei] : #|alive w| = 1%N by rewrite (alive_card keep_card) one_left.
have := left_over w; rewrite /lost Ei inE => /eqP <-.
by apply/eqP/setP => j; rewrite in_setI in_set1 in_set0; case: eqP => [->|_]; rewrite ?andbF // (negbTE out).
Qed.
Lemma lost_or_regret :
  pr J (fun w => (sel w \notin S)
    || geb (learned_risk theta (X T.-1) learned (sel w) w - risk best) (regret_2 theta Lam kappa (N T.-1) delta #|S| + eps))
  <= delta + \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * (2 * q (N t)) / INR (uphalf (alive_count I t))).
Proof.
have T0 : (0 < T)%N by rewrite up_log_gt0 // (many_arms D0 start).
have lt : (T.-1 < T)%N by rewrite prednK.
have N0 : (0 < N T.-1)%N.
  by apply: leq_trans (launched_pos D0 start) _; rewrite /median_elimination_arms.N big_ord_recl /= leq_addr.
have H := rival_or_regret_any Htheta Lam0 k0 sel N0 (fun i f => HX f lt) Hd Hl minimal.
apply: Rle_trans H _; apply: Rplus_le_compat_l.
apply: Rle_trans (lemma_2_i_accumulated Htheta Lam0 k0 minimal D0 gaps keep_sub keep_card keep_small start HX).
by apply: pr_sub => w; exact: selected_lost.
Qed.
(** lemma-2-ii corrected, a3-term-b corrected, a5-regret corrected *)
Theorem lemma_2_ii :
  pr J (fun w => geb (learned_risk theta (X T.-1) learned (sel w) w - risk best) (regret_2 theta Lam kappa (N T.-1) delta #|S| + eps))
  <= delta + \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * (2 * q (N t)) / INR (uphalf (alive_count I t))).
Proof. by apply: Rle_trans lost_or_regret; apply: pr_sub => w ->; rewrite orbT. Qed.
End MedianElimination.
