(** The paper's Lemma 2 (i) in the form 8 q / (1 - q), corrected: rows drawn anew in every round for every number of
    arms, and accumulated rows for 2^c arms of which one is best. q is the exponential of Lemma 4 at the rows of the
    first round. For M <= 3 it is at most the printed one, which has 2/9 in place of 2/M^2. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import registry registry_rows.
From Exml Require Import finite_probability concentration selection gram rademacher arm uniform_allocation median_elimination.
From Exml Require Import median_elimination_arms.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Numbers of rows *)
Lemma quarter a : ((uphalf (uphalf a.+2)).*2 <= a.+2)%N.
Proof.
have [m] := ubnP a; elim: m a => // m IH [|[|[|[|a]]]] // lt.
rewrite ltnS in lt; have /= := IH a (ltnW (ltnW (ltnW lt))).
by rewrite doubleS !ltnS => le; exact: leqW (leqW le).
Qed.
Lemma active_ge2 K t : (1 < K)%N -> (t < rounds K)%N -> (1 < active K t)%N.
Proof.
move=> K1 lt; have := active_last K1.
have le : (t <= (rounds K).-1)%N by case: (rounds K) lt.
rewrite /active -(subnK le) iterD => E.
by rewrite ltnNge; apply/negP => small; have := iter_uphalf_le ((rounds K).-1 - t) (iter t uphalf K);
  rewrite E => /leq_trans /(_ small).
Qed.
Lemma active_halves K t : (1 < K)%N -> (t < rounds K)%N -> (active K t * 2 ^ t./2 <= K)%N.
Proof.
move=> K1; have [m] := ubnP t; elim: m t => // m IH [|[|t]] //.
- by rewrite muln1.
- by rewrite muln1 => _ _; exact: (iter_uphalf_le 1 K).
rewrite !ltnS => tm lt; have lt' : (t < rounds K)%N by exact: ltnW (ltnW lt).
have := IH t (ltnW tm) lt'; have := active_ge2 K1 lt'.
rewrite /active /= -/(active K t); case: (active K t) => [|[|a]] // _ le.
apply: leq_trans le; rewrite expnS mulnA leq_mul2r muln2; apply/orP; right; exact: quarter.
Qed.
Lemma succ_le_pow j : (j < 2 ^ j)%N. Proof. exact: ltn_expl. Qed.
Lemma rows_grow B K t : (1 < K)%N -> (t < rounds K)%N -> (t./2.+1 * registry_rows.rows B K 0 <= registry_rows.rows B K t)%N.
Proof.
move=> K1 lt; have a2 := active_ge2 K1 lt; have T0 : (0 < rounds K)%N by rewrite up_log_gt0.
rewrite /registry_rows.rows leq_divRL; last by rewrite muln_gt0 T0 (ltnW a2).
apply: leq_trans (leq_trunc_div B (rounds K * active K 0)).
rewrite mulnAC mulnC leq_mul2l; apply/orP; right; rewrite mulnCA leq_mul2l; apply/orP; right.
by apply: leq_trans (active_halves K1 lt); rewrite mulnC leq_mul2l succ_le_pow orbT.
Qed.

(** * Powers of the exponential *)
Section Exponential.
Variables (theta Lam kappa Delta : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa) (D0 : 0 < Delta).
Notation q := (q4 theta Lam kappa Delta).
Notation r := (arm.r Lam kappa).
Notation M := (arm.M theta Lam kappa).
Notation launched := (launched theta Lam kappa Delta).

Lemma q_pos n : 0 < q n. Proof. exact: exp_pos. Qed.
Lemma q_lt1 n : launched n -> q n < 1.
Proof.
move=> l; have Hn := INR_pos (launched_pos D0 l); have HM := M_pos Htheta Lam0 k0.
have Hc : 1 <= paper_c theta by have := cstar_le_c Htheta; have := cstar_ge1 theta; lra.
have eD := launch (Rlt_le_trans _ _ _ Rlt_0_1 Hc) (r_pos Lam0 k0) D0 Hn l.
rewrite -exp_0; apply: exp_increasing; apply: Ropp_lt_gt_0_contravar; apply: Rdiv_lt_0_compat; last nra.
by apply: Rmult_lt_0_compat; [lra | apply: Rmult_lt_0_compat; lra].
Qed.
Lemma q_power k n m : launched n -> (k * n <= m)%N -> (0 < k)%N -> q m <= q n ^ k.
Proof.
move=> l le kpos; have n0 := launched_pos D0 l; have Hn := INR_pos n0; have HM := M_pos Htheta Lam0 k0.
have m0 : (0 < m)%N by apply: leq_trans le; rewrite muln_gt0 kpos.
have Hm := INR_pos m0; have Hr := r_pos Lam0 k0.
have Hc : 1 <= paper_c theta by have := cstar_le_c Htheta; have := cstar_ge1 theta; lra.
have eD := launch (Rlt_le_trans _ _ _ Rlt_0_1 Hc) Hr D0 Hn l.
have nm : INR n <= INR m by apply: INR_le; apply: leq_trans le; rewrite leq_pmull.
have S := sqrt_le_1_alt _ _ nm; have Sn := sqrt_lt_R0 _ Hn.
have em : 2 * paper_c theta * r / sqrt (INR m) <= 2 * paper_c theta * r / sqrt (INR n).
  by apply: Rmult_le_compat_l; [nra | exact: Rinv_le_contravar].
rewrite /q4; set en := 2 * _ * r / sqrt (INR n) in eD em *; set em' := 2 * _ * r / sqrt (INR m) in em *.
have E x j : exp x ^ j = exp (INR j * x).
  elim: j => [|j IH]; first by rewrite Rmult_0_l exp_0.
  by rewrite S_INR /= IH -exp_plus; congr exp; ring.
rewrite E; apply: exp_le.
have kn : INR k * INR n <= INR m by rewrite -mult_INR; exact: INR_le.
have sq : (Delta / 2 - en) * (Delta / 2 - en) <= (Delta / 2 - em') * (Delta / 2 - em') by apply: Rmult_le_compat; lra.
have s0 : 0 <= (Delta / 2 - en) * (Delta / 2 - en) by apply: Rle_0_sqr.
have P : INR k * INR n * ((Delta / 2 - en) * (Delta / 2 - en)) <= INR m * ((Delta / 2 - em') * (Delta / 2 - em')).
  by apply: Rmult_le_compat => //; apply: Rmult_le_pos; [exact: pos_INR | lra].
have iM : 0 <= / (M * M) by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
have := Rmult_le_compat_r _ _ _ iM P; rewrite /Rdiv; lra.
Qed.

(** For M <= 3 the printed exponential is larger. *)
Lemma printed_exponential n : (0 < n)%N -> M <= 3 -> q n <= tail (INR n) Delta theta r.
Proof.
move=> n0 M3; have HM := M_pos Htheta Lam0 k0; have Hn := INR_pos n0.
rewrite /q4 /tail margin_c //; apply: exp_le; apply: Ropp_le_contravar.
set x := _ - _ ; have -> : x ^ 2 = x * x by ring.
have x0 : 0 <= x * x by apply: Rle_0_sqr.
have -> : 2 / 9 * INR n * (x * x) = 2 * INR n * (x * x) * / 9 by field.
by apply: Rmult_le_compat_l; [apply: Rmult_le_pos; lra | apply: Rinv_le_contravar; nra].
Qed.
End Exponential.

(** * Geometric sums *)
Definition quotient (q : R) : R := 8 * q / (1 - q).
Lemma quotient_mono p q : 0 <= p <= q -> q < 1 -> quotient p <= quotient q.
Proof.
move=> pq q1; rewrite /quotient; apply: Rmult_le_compat; try lra.
- by apply: Rlt_le; apply: Rinv_0_lt_compat; lra.
- by apply: Rinv_le_contravar; lra.
Qed.
Lemma half_powers q T : 0 < q < 1 -> \rsum_(t : 'I_T) (4 * q ^ t./2.+1) <= quotient q.
Proof.
move=> Hq; suff S : forall T, \rsum_(t : 'I_T) (4 * q ^ t./2.+1) = 4 * powers q T./2 + 4 * powers q (uphalf T).
  by rewrite S /quotient; have := a5_series_2 q T./2 Hq; have := a5_series_2 q (uphalf T) Hq; lra.
elim=> [|t IH]; first by rewrite big_ord0 /=; lra.
rewrite big_ord_recr /= IH -/(uphalf t).
by have := uphalf_half t; case: (odd t) => ->; rewrite ?add1n ?add0n; cbn [powers]; lra.
Qed.
Lemma powers_block q a b : 0 < q < 1 -> powers q a + INR b * q ^ (a + b) <= powers q (a + b).
Proof.
move=> Hq; elim: b => [|b IH]; first by rewrite addn0 /=; lra.
rewrite addnS S_INR; cbn [powers]; have le := pow_decreases q (a + b)%N (a + b).+1 ltac:(lra) (Nat.le_succ_diag_r _).
have : INR b * q ^ (a + b).+1 <= INR b * q ^ (a + b) by apply: Rmult_le_compat_l => //; exact: pos_INR.
lra.
Qed.
Lemma block_powers q T : 0 < q < 1 -> \rsum_(t : 'I_T) (INR (2 ^ t.+2) * q ^ (2 ^ t.+1 - 1)) <= 4 * powers q (2 ^ T - 1).
Proof.
move=> Hq; elim: T => [|T IH]; first by rewrite big_ord0 /=; lra.
rewrite big_ord_recr; have B := powers_block (2 ^ T - 1) (2 ^ T) Hq.
have E : (2 ^ T - 1 + 2 ^ T = 2 ^ T.+1 - 1)%N by rewrite addnC addnBA ?expn_gt0 // expnS mul2n addnn.
rewrite E in B; have -> : INR (2 ^ T.+2) = 4 * INR (2 ^ T) by rewrite !expnS !mult_INR /=; ring.
set x := \big[_/_]_(i < T) _ in IH *; set y := q ^ (2 ^ T.+1 - 1) in B *.
have := Rmult_le_compat_l 4 _ _ ltac:(lra) B; rewrite /Monoid.operator /=; lra.
Qed.

Section Lemma2.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (I : finType) (a : I -> arm kappa) (best : I) (Delta : R) (B : nat).
Notation risk i := (Rarm theta Lam (a i)).
Notation q := (q4 theta Lam kappa Delta).
Notation S := (median_elimination_arms.S theta Lam a best).
Notation T := (median_elimination_arms.T I).
Notation n := (median_elimination_arms.n I B).
Notation N := (median_elimination_arms.N I B).
Hypotheses (minimal : forall i, risk best <= risk i) (D0 : 0 < Delta)
           (gaps : forall i, i \notin S -> Delta <= risk i - risk best).
Variable keep : (I -> R) -> {set I} -> {set I}.
Hypotheses (keep_sub : forall v A, keep v A \subset A)
           (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j).
Hypothesis start : launched theta Lam kappa Delta (n 0).
Let q01 : 0 < q (n 0) < 1. Proof. by split; [exact: q_pos | exact: q_lt1]. Qed.
Lemma many_arms : (1 < #|I|)%N.
Proof.
have := launched_pos D0 start; rewrite /median_elimination_arms.n /median_elimination_arms.T.
by case: (ltnP 1 #|I|) => // le; rewrite (_ : up_log 2 #|I| = 0)%N ?mul0n ?divn0 //; apply/eqP; rewrite eqn0Ngt up_log_gt0 // -leqNgt.
Qed.

Lemma fresh_sum : \rsum_(t : 'I_T) fresh_term S (alive_count I t) (2 * q (n t)) <= quotient (q (n 0)).
Proof.
apply: Rle_trans (half_powers T q01); apply: rsum_le => t _.
have qt : q (n t) <= q (n 0) ^ t./2.+1.
  by apply: q_power => //; exact: (rows_grow B many_arms (ltn_ord t)).
have q0 := q_pos theta Lam kappa Delta (n t).
apply: (Rle_trans _ (4 * q (n t))); last lra.
rewrite /fresh_term; case: ltnP => _; first lra.
have a2 : (1 < alive_count I t)%N by exact: (active_ge2 many_arms (ltn_ord t)).
have u0 := INR_pos (uphalf_pos (ltnW a2)).
apply: (Rmult_le_reg_r (INR (uphalf (alive_count I t)))) => //.
rewrite /Rdiv Rmult_assoc Rinv_l ?Rmult_1_r; last lra.
have : INR (minn (alive_count I t).-1 #|~: S|) <= 2 * INR (uphalf (alive_count I t)).
  rewrite -[2]/(INR 2) -mult_INR; apply: INR_le; rewrite multE mul2n -leq_uphalf_double.
  by apply: leq_trans (uphalf_leq (leq_trans (geq_minl _ _) (leq_pred _))) _.
by move=> le; have := Rmult_le_compat_r (2 * q (n t)) _ _ ltac:(lra) le; lra.
Qed.

(** lemma-2-i corrected, rows drawn anew in every round: every number of arms, every rule for ties. *)
Theorem lemma_2_i_printed_fresh (Omega : nat -> finType) (J : forall t, fdist (Omega t))
    (X : forall t i, Omega t -> {ffun 'I_(n t) -> rows (a i)}) :
  (forall t i f, ex (J t) (fun w => f (X t i w)) = ex (draws (distribution (a i)) (n t)) f) ->
  fail S keep J (fun t w i => Varm theta Lam (X t i w)) T 0 [set: I] <= quotient (q (n 0)).
Proof.
move=> HX; apply: Rle_trans fresh_sum.
exact: (lemma_2_i_fresh Htheta Lam0 k0 minimal D0 gaps keep_sub keep_card keep_small start HX).
Qed.

Lemma accumulated_sum c : #|I| = (2 ^ c)%N -> #|S| = 1%N ->
  \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * (2 * q (N t)) / INR (uphalf (alive_count I t))) <= quotient (q (n 0)).
Proof.
move=> Kc s1; have K1 := many_arms.
have c0 : (0 < c)%N by move: K1; rewrite Kc; case: (c).
have Tc : T = c by rewrite /median_elimination_arms.T Kc up_expnK.
apply: (Rle_trans _ (\rsum_(t : 'I_T) (INR (2 ^ t.+2) * q (n 0) ^ (2 ^ t.+1 - 1)))); last first.
  apply: Rle_trans (block_powers T q01) _; have := a5_series_2 (q (n 0)) (2 ^ T - 1) q01; rewrite -/(quotient _).
  have : 0 < quotient (q (n 0)) by apply: Rdiv_lt_0_compat; move: q01; lra.
  lra.
apply: rsum_le => t _; have lt : (t < c)%N by rewrite -Tc.
have p0 : (0 < 2 ^ t.+1 - 1)%N by rewrite subn_gt0 -{1}(expn0 2) ltn_exp2l.
have qt : q (N t) <= q (n 0) ^ (2 ^ t.+1 - 1).
  apply: q_power => //.
  rewrite /median_elimination_arms.N -(sum_powers t.+1) big_distrl /=; apply: leq_sum => u _.
  have uc : (u <= c)%N by exact: leq_trans (leq_ord u) (ltnW lt).
  rewrite -[n 0]/(registry_rows.rows B #|I| 0) -[n u]/(registry_rows.rows B #|I| u) Kc (rows_power B uc) (rows_power B (leq0n c)) subn0.
  rewrite leq_divRL ?muln_gt0 ?c0 ?expn_gt0 //.
  have E : (2 ^ u * 2 ^ (c - u) = 2 ^ c)%N by rewrite -expnD subnKC.
  apply: leq_trans (leq_trunc_div B (c * 2 ^ c)).
  by rewrite -E [(2 ^ u * (B %/ _))%N]mulnC -!mulnA leq_mul2l mulnCA leqnn orbT.
have ua : uphalf (alive_count I t) = (2 ^ (c - t.+1))%N.
  rewrite /alive_count Kc -[iter t uphalf _]/(active (2 ^ c) t) (active_power (ltnW lt)).
  by rewrite -(subnSK lt) expnS mul2n uphalf_double.
have u0 : 0 < INR (2 ^ (c - t.+1)) by apply: INR_pos; rewrite expn_gt0.
rewrite ua s1 mul1n; apply: (Rmult_le_reg_r (INR (2 ^ (c - t.+1)))) => //.
rewrite /Rdiv Rmult_assoc Rinv_l ?Rmult_1_r; last lra.
have E : INR (2 ^ t.+2) * q (n 0) ^ (2 ^ t.+1 - 1) * INR (2 ^ (c - t.+1)) = INR (2 ^ c) * (2 * q (n 0) ^ (2 ^ t.+1 - 1)).
  have -> : (2 ^ c = 2 ^ t.+1 * 2 ^ (c - t.+1))%N by rewrite -expnD subnKC.
  by rewrite (expnS 2 t.+1) !mult_INR /=; ring.
rewrite E; apply: Rmult_le_compat; try exact: pos_INR.
- by have := q_pos theta Lam kappa Delta (N t); lra.
- by apply: INR_le; rewrite -Kc; exact: max_card.
- lra.
Qed.

(** lemma-2-i corrected, accumulated rows: 2^c arms of which one is best. *)
Theorem lemma_2_i_printed_accumulated c (Omega : finType) (J : fdist Omega)
    (X : forall t i, Omega -> {ffun 'I_(N t) -> rows (a i)}) : #|I| = (2 ^ c)%N -> #|S| = 1%N ->
  (forall t i f, (t < T)%N -> ex J (fun w => f (X t i w)) = ex (draws (distribution (a i)) (N t)) f) ->
  pr J (fun w => lost S (alive keep (fun t w i => Varm theta Lam (X t i w)) T w)) <= quotient (q (n 0)).
Proof.
move=> Kc s1 HX; apply: Rle_trans (accumulated_sum Kc s1).
exact: (lemma_2_i_accumulated Htheta Lam0 k0 minimal D0 gaps keep_sub keep_card keep_small start HX).
Qed.

(** The same with the printed exponential, for M <= 3 and where it is below one. *)
Theorem printed_quotient : arm.M theta Lam kappa <= 3 -> tail (INR (n 0)) Delta theta (arm.r Lam kappa) < 1 ->
  quotient (q (n 0)) <= fail_median (INR (n 0)) Delta theta (arm.r Lam kappa).
Proof.
move=> M3 t1; apply: quotient_mono => //; split; first by move: q01; lra.
exact: (printed_exponential _ Htheta Lam0 k0 (launched_pos D0 start) M3).
Qed.
End Lemma2.
