(** Claims of the registry (docs/CLAIMS.md) about numbers of rows, one theorem per claim. Rounds are counted from 0: round
    t of this file is round t + 1 of the paper. *)
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq fintype bigop div prime.
From Exml Require Import median_elimination median_elimination_arms.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** T = ceil(log2 K), the active arms of round t, and its rows per arm. *)
Definition rounds K := up_log 2 K.
Definition active K t := iter t uphalf K.
Definition rows B K t := B %/ (rounds K * active K t).
Definition all_rows B K := \sum_(t < rounds K) rows B K t.

(** ua-allocation *)
Theorem ua_allocation B K : K * (B %/ K) <= B.
Proof. by rewrite mulnC leq_trunc_div. Qed.

(** me-spend: at most B/T per round, and at most B in all. *)
Theorem me_spend B K : (forall t, active K t * rows B K t <= B %/ rounds K) /\ \sum_(t < rounds K) active K t * rows B K t <= B.
Proof.
have one t : active K t * rows B K t <= B %/ rounds K by rewrite /rows divnMA mulnC leq_trunc_div.
split=> //; apply: (@leq_trans (\sum_(t < rounds K) B %/ rounds K)); first exact: leq_sum.
by rewrite sum_nat_const card_ord mulnC leq_trunc_div.
Qed.

(** me-largest-sample: an arm that leaves after k rounds has no more rows than the selected one. *)
Theorem me_largest_sample B K k : k <= rounds K -> \sum_(t < k) rows B K t <= all_rows B K.
Proof.
move=> le; rewrite /all_rows -!(big_mkord xpredT (rows B K)) (big_cat_nat _ _ _ (leq0n k) le) /=.
exact: leq_addr.
Qed.

(** me-one-left corrected *)
Theorem me_one_left K : 0 < K -> active K (rounds K) = 1.
Proof. by move=> K0; apply: halving; rewrite K0 /= up_logP. Qed.

Lemma active_bound K t : K <= active K t * 2 ^ t.
Proof.
elim: t => [|t IH]; first by rewrite muln1.
apply: leq_trans IH _; rewrite expnS mulnA leq_mul2r; apply/orP; right.
by rewrite /= -/(active K t) muln2 -leq_uphalf_double.
Qed.
Lemma active_last K : 1 < K -> active K (rounds K).-1 = 2.
Proof.
move=> K1; have [low up] := andP (up_log_bounds (isT : 1 < 2) K1).
have T0 : 0 < rounds K by rewrite up_log_gt0.
have := me_one_left (ltnW K1); rewrite -(prednK T0) /active iterS -/(active K (rounds K).-1).
have := active_bound K (rounds K).-1.
case: (active K _) => [|[|[|[|a]]]] //; rewrite ?mul1n ?mul0n // => le _.
by have := leq_trans low le; rewrite ltnn.
Qed.

(** me-draw corrected: the rows of the last round fit into a training set of m rows. *)
Theorem me_draw B K m : 1 < K -> (rows B K (rounds K).-1 <= m) = (B < 2 * rounds K * m.+1).
Proof.
move=> K1; rewrite /rows active_last // -ltnS ltn_divLR; last by rewrite muln_gt0 up_log_gt0 K1.
by rewrite mulnC (mulnC 2).
Qed.

(** lemma-2-first-round corrected: the rows of the first round, with T = ceil(log2 K). *)
Theorem lemma_2_first_round B K : 1 < K -> rows B K 0 = B %/ (K * rounds K) /\ 2 ^ (rounds K).-1 < K <= 2 ^ rounds K.
Proof. by move=> K1; split; [rewrite /rows mulnC | exact: up_log_bounds]. Qed.

(** remark-7-launch-budget corrected: the smallest budgets with more than C rows per arm, in uniform allocation and in the first
    round of median elimination. *)
Theorem remark_7_launch_budget K C : 1 < K ->
  let uniform := K * C.+1 in let median := rounds K * K * C.+1 in
  [/\ forall B, (C < B %/ K) = (uniform <= B), forall B, (C < rows B K 0) = (median <= B), uniform + (2 < K) <= median
    & K = 2 -> median = uniform].
Proof.
move=> K1 uniform median; have K0 : 0 < K by exact: ltnW.
have T0 : 0 < rounds K by rewrite up_log_gt0.
split=> [B|B||K2].
- by rewrite leq_divRL // mulnC.
- by rewrite /rows leq_divRL ?muln_gt0 ?T0 // mulnC.
- rewrite /median -mulnA -/uniform; case: (ltnP 2 K) => [K2|_]; last by rewrite addn0 leq_pmull.
  have T2 : 1 < rounds K.
    rewrite ltnNge; apply/negP => le; have := up_logP K (isT : 1 < 2).
    by rewrite -/(rounds K) => /leq_trans /(_ (leq_pexp2l (isT : 0 < 2) le)); rewrite leqNgt K2.
  apply: (@leq_trans (2 * uniform)); last by rewrite leq_mul2r T2 orbT.
  by rewrite mul2n -addnn leq_add2l muln_gt0 K0.
- by rewrite /median /uniform /rounds K2 (_ : up_log 2 2 = 1) ?mul1n.
Qed.

(** * K = 2^c *)
Section PowerOfTwo.
Variables (B c : nat).
Hypothesis c0 : 0 < c.
Notation K := (2 ^ c).

Lemma rounds_power : rounds K = c. Proof. exact: up_expnK. Qed.
Lemma active_power t : t <= c -> active K t = 2 ^ (c - t).
Proof.
elim: t => [|t IH] le; first by rewrite subn0.
rewrite /active iterS -/(active K t) IH; last exact: ltnW.
by rewrite -(subnSK le) expnS mul2n uphalf_double.
Qed.
Lemma rows_power t : t <= c -> rows B K t = B %/ (c * 2 ^ (c - t)).
Proof. by move=> le; rewrite /rows rounds_power active_power. Qed.
Lemma cost_pos t : 0 < c * 2 ^ t. Proof. by rewrite muln_gt0 c0 expn_gt0. Qed.

(** a5-doubling *)
Theorem a5_doubling t : K * c %| B -> t < c -> rows B K t = 2 ^ t * rows B K 0.
Proof.
move=> /dvdnP [j Ej] lt; rewrite !rows_power ?(ltnW lt) // subn0.
have E : 2 ^ t * 2 ^ (c - t) = K by rewrite -expnD subnKC // ltnW.
have E1 : B = 2 ^ t * j * (c * 2 ^ (c - t)).
  by rewrite Ej -E (mulnC (2 ^ t) j) -!mulnA; congr (_ * (_ * _)); exact: mulnC.
have E2 : B = j * (c * K) by rewrite Ej (mulnC K).
by rewrite {1}E1 mulnK ?cost_pos // E2 mulnK ?cost_pos.
Qed.

(** a5-count-1 corrected *)
Theorem a5_count_1 : K * c %| B -> all_rows B K = rows B K 0 * \sum_(t < c) 2 ^ t.
Proof.
move=> div; rewrite /all_rows rounds_power big_distrr /=; apply: eq_bigr => t _.
by rewrite a5_doubling // mulnC.
Qed.

Lemma sum_powers : \sum_(t < c) 2 ^ t = K - 1.
Proof.
clear c0; elim: c => [|d IH]; first by rewrite big_ord0 expn0.
rewrite big_ord_recr /= IH expnS mul2n -addnn.
by rewrite addnC addnBA // expn_gt0.
Qed.

(** a5-count-3 corrected, and a5-count-2 corrected without divisibility *)
Theorem a5_count_3 : (K - 1) * rows B K 0 <= all_rows B K.
Proof.
rewrite -sum_powers big_distrl /all_rows rounds_power /=; apply: leq_sum => t _.
have le : t <= c by exact: ltnW.
rewrite !rows_power // subn0 leq_divRL ?cost_pos //.
have E : 2 ^ t * 2 ^ (c - t) = K by rewrite -expnD subnKC.
apply: leq_trans (leq_trunc_div B (c * K)).
by rewrite -E [2 ^ t * (B %/ _)]mulnC -!mulnA leq_mul2l mulnCA leqnn orbT.
Qed.

(** a5-count-2 corrected *)
Theorem a5_count_2 : K * c %| B -> all_rows B K = (K - 1) * rows B K 0.
Proof. by move=> div; rewrite a5_count_1 // sum_powers mulnC. Qed.

(** me-sample-count corrected: the rows of the selected arm are (1 - 1/K) B / T. *)
Theorem me_sample_count : K * c %| B -> all_rows B K * (K * c) = (K - 1) * B.
Proof.
move=> div; rewrite a5_count_2 // rows_power // subn0 -mulnA; congr (_ * _).
by rewrite (mulnC c) divnK.
Qed.

(** a5-count-4 corrected *)
Theorem a5_count_4 : B %/ c %/ 2 <= all_rows B K.
Proof.
have lt : c.-1 < c by rewrite prednK.
have -> : B %/ c %/ 2 = rows B K c.-1.
  have one : c - c.-1 = 1 by rewrite -{1}(prednK c0) subSnn.
  by rewrite rows_power 1?ltnW // one -divnMA.
rewrite /all_rows rounds_power (bigD1 (Ordinal lt)) //=; exact: leq_addr.
Qed.
End PowerOfTwo.
