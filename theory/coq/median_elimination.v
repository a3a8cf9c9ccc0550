(** Median elimination for any scores, any number of arms and any rule for ties: rows drawn anew in every round, and
    rows kept from earlier rounds. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import finite_probability concentration selection gram rademacher arm uniform_allocation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma INR_le (a b : nat) : (a <= b)%N -> INR a <= INR b.
Proof. by move=> /leP; exact: le_INR. Qed.
Lemma INR_card_sum (I : finType) (A : pred I) : INR #|A| = \rsum_i ind (A i).
Proof. by rewrite /ind -big_mkcond /= rsum_const_pred Rmult_1_r. Qed.
Lemma uphalf_pos a : (0 < a)%N -> (0 < uphalf a)%N.
Proof. by case: a => [|[|a]]. Qed.

(** Markov for a count of events. *)
Lemma pr_count (W : finType) (J : fdist W) (I : finType) (P : pred I) (A : I -> pred W) k p (B : pred W) :
  (0 < k)%N -> (forall w, B w -> (k <= #|[pred i | P i && A i w]|)%N) -> (forall i, P i -> pr J (A i) <= p) ->
  pr J B <= INR #|P| * p / INR k.
Proof.
move=> k0 HB HA.
have K0 : 0 < INR k by apply: lt_0_INR; apply/ltP.
apply: Rle_trans.
  apply: (@markov _ J (fun w => \rsum_(i | P i) ind (A i w)) (INR k)) => //.
    by move=> w; apply: rsum_ge0 => i _; rewrite /ind; case: ifP; lra.
  move=> w /HB /INR_le le; apply: Rle_trans le _.
  rewrite INR_card_sum [X in _ <= X]big_mkcond /=; apply: rsum_le => i _ /=.
  by rewrite /ind; case: (P i) => /=; lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
by rewrite ex_rsum -rsum_const_pred; apply: rsum_le.
Qed.

Section Median.
Variables (I : finType) (S : {set I}) (keep : (I -> R) -> {set I} -> {set I}).
Hypotheses (keep_sub : forall v A, keep v A \subset A)
           (keep_card : forall v A, #|keep v A| = uphalf #|A|)
           (keep_small : forall v A i j, i \in keep v A -> j \in A -> j \notin keep v A -> v i <= v j).
Definition lost (A : {set I}) : bool := S :&: A == set0.

Lemma lostP A : ~~ lost A -> exists i0, i0 \in S /\ i0 \in A.
Proof. by case/set0Pn => i0; rewrite inE => /andP [? ?]; exists i0. Qed.

Lemma keep_lost v (A : {set I}) i0 : i0 \in S -> i0 \in A -> lost (keep v A) ->
  (uphalf #|A| <= #|[pred i | (i \in A :\: S) && geb (v i0) (v i)]|)%N.
Proof.
move=> iS iA l; rewrite -(keep_card v A); apply: subset_leq_card; apply/subsetP => i ik.
have notS j : j \in keep v A -> j \notin S.
  move=> jk; apply/negP => jS; move/eqP/setP: l => /(_ j); by rewrite !inE jS jk.
rewrite !inE notS // (subsetP (keep_sub v A)) //=; apply/gebP.
apply: (keep_small ik iA); apply/negP => /notS; by rewrite iS.
Qed.

Lemma rivals_card (A : {set I}) i0 : i0 \in S -> i0 \in A -> (#|A :\: S| <= minn #|A|.-1 #|~: S|)%N.
Proof.
move=> iS iA; rewrite leq_min; apply/andP; split; last first.
  by apply: subset_leq_card; apply/subsetP => i; rewrite !inE => /andP [].
rewrite (cardsD1 i0 A) iA /=; apply: subset_leq_card; apply/subsetP => i.
by rewrite !inE => /andP [iS' ->]; rewrite andbT; apply: contraNneq iS' => ->.
Qed.

(** A round with a alive arms and pairwise probability p. *)
Definition fresh_term (a : nat) (p : R) : R :=
  if (minn a.-1 #|~: S| < uphalf a)%N then 0 else INR (minn a.-1 #|~: S|) * p / INR (uphalf a).

Section Fresh.
Variables (Omega : nat -> finType) (J : forall t, fdist (Omega t)) (V : forall t, Omega t -> I -> R) (p : nat -> R).
Hypothesis p0 : forall t, 0 <= p t.
Hypothesis pairs : forall t i j, i \notin S -> j \in S -> pr (J t) (fun w => geb (V w j) (V w i)) <= p t.

(** The probability that T rounds from round t on, with independent rows, leave no member of S. *)
Fixpoint fail (T t : nat) (A : {set I}) : R :=
  if T is T'.+1 then ex (J t) (fun w => fail T' t.+1 (keep (V w) A)) else ind (lost A).

Lemma fail_le1 T t A : fail T t A <= 1.
Proof.
elim: T t A => [|T IH] t A /=; first by rewrite /ind; case: ifP; lra.
by rewrite -(ex_const (J t) 1); apply: ex_le => w; exact: IH.
Qed.

Lemma fresh_round t A : ~~ lost A -> pr (J t) (fun w => lost (keep (V w) A)) <= fresh_term #|A| (p t).
Proof.
move=> /lostP [i0 [iS iA]].
have a0 : (0 < #|A|)%N by apply/card_gt0P; exists i0.
have k0 := uphalf_pos a0.
have K0 : 0 < INR (uphalf #|A|) by apply: lt_0_INR; apply/ltP.
have C := rivals_card iS iA.
rewrite /fresh_term; case: ltnP => [lt|_].
  rewrite -(ex_const (J t) 0); apply: ex_le => w; rewrite /ind; case: ifP => [l|_]; last lra.
  have := keep_lost iS iA l; rewrite leqNgt (leq_ltn_trans _ lt) //.
  apply: leq_trans C; apply: subset_leq_card; apply/subsetP => i; rewrite inE => /andP [] //.
apply: Rle_trans.
  apply: (@pr_count _ (J t) I [pred i | i \in A :\: S] (fun i w => geb (V w i0) (V w i)) (uphalf #|A|) (p t)) => //.
    by move=> w; exact: keep_lost.
  by move=> i; rewrite !inE => /andP [iS' _]; exact: pairs.
apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
apply: Rmult_le_compat_r => //; apply: INR_le; apply: leq_trans C.
by apply: subset_leq_card; apply/subsetP => i; rewrite inE.
Qed.

Theorem median_fresh T t A : ~~ lost A ->
  fail T t A <= \rsum_(u : 'I_T) fresh_term (iter u uphalf #|A|) (p (t + u)%N).
Proof.
elim: T t A => [|T IH] t A nl; first by rewrite big_ord0 /= /ind (negbTE nl); lra.
rewrite big_ord_recl /= addn0.
set rest := \big[_/_]_(i < T) _.
have F0 a q : 0 <= q -> 0 <= fresh_term a q.
  move=> q0; rewrite /fresh_term; case: ltnP => [_|le]; first lra.
  case: a le => [|a] le; first by rewrite /= min0n /Rdiv !Rmult_0_l; lra.
  apply: Rmult_le_pos; first by apply: Rmult_le_pos => //; exact: pos_INR.
  by apply: Rlt_le; apply: Rinv_0_lt_compat; apply: lt_0_INR; apply/ltP; exact: uphalf_pos.
have rest0 : 0 <= rest by apply: rsum_ge0 => u _; exact: F0.
apply: (Rle_trans _ (ex (J t) (fun w => ind (lost (keep (V w) A)) + rest))).
  apply: ex_le => w; rewrite {1}/ind; case: ifP => [_|/negbT nl'].
    by have := fail_le1 T t.+1 (keep (V w) A); lra.
  rewrite Rplus_0_l; apply: Rle_trans (IH t.+1 _ nl') _; apply: Req_le; apply: eq_bigr => u _.
  by rewrite keep_card -iterSr /= addSnnS.
by rewrite ex_add ex_const; have := fresh_round t nl; rewrite /pr; lra.
Qed.
End Fresh.

Section Accumulated.
Variables (Omega : finType) (J : fdist Omega) (V : nat -> Omega -> I -> R) (p : nat -> R).
Fixpoint alive (t : nat) (w : Omega) : {set I} := if t is t'.+1 then keep (V t' w) (alive t' w) else setT.
Lemma alive_card t w : #|alive t w| = iter t uphalf #|I|.
Proof. by elim: t => [|t IH] /=; [rewrite cardsT | rewrite keep_card IH]. Qed.

Theorem median_accumulated T (i1 : I) : i1 \in S ->
  (forall t i j, (t < T)%N -> i \notin S -> j \in S -> pr J (fun w => geb (V t w j) (V t w i)) <= p t) ->
  pr J (fun w => lost (alive T w)) <=
  \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * p t / INR (uphalf (iter t uphalf #|I|))).
Proof.
move=> iS.
have a0 t : (0 < iter t uphalf #|I|)%N.
  by elim: t => [|t IH] /=; [apply/card_gt0P; exists i1 | exact: uphalf_pos].
elim: T => [|T IH] pairs.
  rewrite big_ord0 -(ex_const J 0); apply: ex_le => w; rewrite /ind /lost /= setIT.
  by case: ifP => [/eqP e|_]; [rewrite e inE in iS | lra].
rewrite big_ord_recr /=.
apply: (Rle_trans _ (pr J (fun w => lost (alive T w) || (~~ lost (alive T w) && lost (keep (V T w) (alive T w)))))).
  by apply: pr_sub => w /= ->; case: (lost (alive T w)).
apply: Rle_trans (pr_or _ _ _) _; apply: Rplus_le_compat.
  by apply: IH => t i j lt; apply: pairs; exact: ltnW.
set a := iter T uphalf #|I|.
have -> : INR (#|S| * #|~: S|) = INR #|[pred q : I * I | (q.1 \in S) && (q.2 \in ~: S)]|.
  by rewrite -cardX; congr INR; apply: eq_card => q; rewrite !inE.
apply: (@pr_count _ J _ [pred q : I * I | (q.1 \in S) && (q.2 \in ~: S)] (fun q w => geb (V T w q.1) (V T w q.2))).
- exact: uphalf_pos (a0 T).
- move=> w /andP [/lostP [i0 [i0S i0A]] l].
  rewrite /a -(alive_card T w); apply: leq_trans (keep_lost i0S i0A l) _.
  rewrite -(card_imset _ (f := fun i => (i0, i))); last by move=> ? ? [].
  apply: subset_leq_card; apply/subsetP => q /imsetP [i]; rewrite !inE => /andP [/andP [iS' iA] g] -> /=.
  by rewrite i0S iS' g.
- move=> [j i] /=; rewrite inE => /andP [jS iS']; apply: pairs => //; rewrite -in_setC.
Qed.
End Accumulated.

(** ceil(log2 K) rounds leave one arm. *)
Lemma halving T a : (0 < a <= 2 ^ T)%N -> iter T uphalf a = 1%N.
Proof.
elim: T a => [|T IH] a; first by rewrite expn0 /= => /andP [? ?]; apply/eqP; rewrite eqn_leq; apply/andP.
case/andP => l u; rewrite iterSr; apply: IH; rewrite uphalf_pos //=.
by rewrite expnS mul2n in u; have := uphalf_leq u; rewrite uphalf_double.
Qed.
End Median.
