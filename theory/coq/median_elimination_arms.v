(** The paper's Lemma 2 (i), corrected, as a sum over rounds: median elimination on kernel arms, any number of arms, any
    dependence between the arms' rows inside a round. printed_form.v has the closed form 8 q / (1 - q). For one arm
    there is no round, and the hypothesis [start] cannot hold. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import finite_probability concentration selection gram rademacher arm uniform_allocation median_elimination.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma iter_uphalf_le t a : (iter t uphalf a <= a)%N.
Proof.
elim: t => [|t IH] //=; apply: leq_trans IH.
by rewrite leq_uphalf_double -addnn leq_addr.
Qed.
Lemma iter_uphalf_gt0 t a : (0 < a)%N -> (0 < iter t uphalf a)%N.
Proof. by move=> a0; elim: t => [|t IH] //=; exact: uphalf_pos. Qed.

Section Lemma2.
Variables (theta Lam kappa : R).
Hypotheses (Htheta : 0 < theta < / 2) (Lam0 : 0 < Lam) (k0 : 0 < kappa).
Variables (I : finType) (a : I -> arm kappa) (best : I) (Delta : R) (B : nat).
Notation risk i := (Rarm theta Lam (a i)).
Notation q := (q4 theta Lam kappa Delta).
Definition S : {set I} := [set i | geb (risk best) (risk i)].
Hypotheses (minimal : forall i, risk best <= risk i) (D0 : 0 < Delta)
           (gaps : forall i, i \notin S -> Delta <= risk i - risk best).
Variable keep : (I -> R) -> {set I} -> {set I}.
Hypotheses (keep_sub : forall v A, keep v A \subset A)
           (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j).

Definition T := up_log 2 #|I|.
Definition alive_count t := iter t uphalf #|I|.
Definition n t := (B %/ (T * alive_count t))%N.
Definition N t := (\sum_(u < t.+1) n u)%N.
Hypothesis start : launched theta Lam kappa Delta (n 0).

Lemma best_in : best \in S. Proof. by rewrite inE; apply/gebP; lra. Qed.
Lemma arms_gt0 : (0 < #|I|)%N. Proof. by apply/card_gt0P; exists best. Qed.
Lemma n_mono t : (n 0 <= n t)%N.
Proof.
rewrite /n; case: (posnP T) => [->|T0]; first by rewrite !mul0n.
apply: leq_div2l; first by rewrite muln_gt0 T0 iter_uphalf_gt0 // arms_gt0.
by rewrite leq_mul2l iter_uphalf_le orbT.
Qed.
Lemma launched_mono k l : (k <= l)%N -> launched theta Lam kappa Delta k -> launched theta Lam kappa Delta l.
Proof. by rewrite /launched => /INR_le; lra. Qed.
Lemma launched_pos k : launched theta Lam kappa Delta k -> (0 < k)%N.
Proof.
rewrite /launched => H; case: k H => // H; exfalso; move: H => /=; apply: Rle_not_lt.
have := Rle_0_sqr (paper_c theta); have := Rle_0_sqr (r Lam kappa); rewrite /Rsqr => A C.
apply: Rmult_le_pos; last by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
by apply: Rmult_le_pos => //; lra.
Qed.
Lemma one_left : iter T uphalf #|I| = 1%N.
Proof. by apply: halving; rewrite arms_gt0 /= up_logP. Qed.

Lemma pair_bound k (Omega : finType) (J : fdist Omega) (X : forall i, Omega -> {ffun 'I_k -> rows (a i)}) i j :
  launched theta Lam kappa Delta k ->
  (forall i f, ex J (fun w => f (X i w)) = ex (draws (distribution (a i)) k) f) ->
  i \notin S -> j \in S -> pr J (fun w => geb (Varm theta Lam (X j w)) (Varm theta Lam (X i w))) <= 2 * q k.
Proof.
move=> Hk HX iS; rewrite inE => /gebP jS.
apply: lemma_4_gap => //; first exact: launched_pos.
by split=> //; have := gaps iS; have := minimal j; lra.
Qed.

(** Fresh rows in every round. *)
Theorem lemma_2_i_fresh (Omega : nat -> finType) (J : forall t, fdist (Omega t))
    (X : forall t i, Omega t -> {ffun 'I_(n t) -> rows (a i)}) :
  (forall t i f, ex (J t) (fun w => f (X t i w)) = ex (draws (distribution (a i)) (n t)) f) ->
  fail S keep J (fun t w i => Varm theta Lam (X t i w)) T 0 [set: I] <=
  \rsum_(t : 'I_T) fresh_term S (alive_count t) (2 * q (n t)).
Proof.
move=> HX.
have nl : ~~ lost S [set: I] by apply/set0Pn; exists best; rewrite !inE; have := best_in; rewrite inE => ->.
have := @median_fresh I S keep keep_sub keep_card keep_small Omega J (fun t w i => Varm theta Lam (X t i w)) (fun t => 2 * q (n t)).
move=> /(_ _ _ T 0%N setT nl); rewrite cardsT; apply.
- by move=> t; have := exp_pos (- (2 * INR (n t) * ((Delta / 2 - 2 * paper_c theta * r Lam kappa / sqrt (INR (n t))) * (Delta / 2 - 2 * paper_c theta * r Lam kappa / sqrt (INR (n t)))) / (arm.M theta Lam kappa * arm.M theta Lam kappa))); rewrite -/(q (n t)); lra.
- by move=> t i j; apply: pair_bound => //; exact: launched_mono (n_mono t) start.
Qed.

(** Accumulated rows: X t holds the N t rows drawn up to round t. *)
Theorem lemma_2_i_accumulated (Omega : finType) (J : fdist Omega)
    (X : forall t i, Omega -> {ffun 'I_(N t) -> rows (a i)}) :
  (forall t i f, (t < T)%N -> ex J (fun w => f (X t i w)) = ex (draws (distribution (a i)) (N t)) f) ->
  pr J (fun w => lost S (alive keep (fun t w i => Varm theta Lam (X t i w)) T w)) <=
  \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * (2 * q (N t)) / INR (uphalf (alive_count t))).
Proof.
move=> HX.
apply: (@median_accumulated I S keep keep_sub keep_card keep_small Omega J _ (fun t => 2 * q (N t)) T best best_in).
move=> t i j lt; apply: pair_bound => [|i' f]; last exact: HX.
apply: launched_mono start.
by rewrite /N big_ord_recl /= leq_addr.
Qed.
End Lemma2.
