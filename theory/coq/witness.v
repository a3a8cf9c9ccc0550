(** The hypotheses of the theorems about scores can be met, the bounded events can happen, and the bounds are below 1: the theorems on
    the pool of pool.v, for Lambda from 1 to 5 and at least a million rows. Median elimination has two rounds. instances.v has
    closed instances of all theorems that a claim or a page names. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice path fintype finfun bigop finset div prime.
From Exml Require Import finite_probability concentration selection gram rademacher arm span bayes uniform_allocation.
From Exml Require Import median_elimination median_elimination_arms registry registry_arms printed_form prefixes regret excess_risk pool.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Choice of dependent values over a finite type. *)
Lemma finite_choice_dep (T : finType) (W : T -> Type) (w0 : forall x, W x) (P : forall x, W x -> Prop) :
  (forall x, exists w, P x w) -> exists F : forall x, W x, forall x, P x (F x).
Proof.
move=> H; suff : forall l : seq T, exists F : forall x, W x, forall x, x \in l -> P x (F x).
  by move=> /(_ (enum T)) [F HF]; exists F => x; apply: HF; rewrite mem_enum.
elim=> [|y l [F HF]]; first by exists w0.
have [w Pw] := H y.
exists (fun x => match @eqP _ y x with ReflectT e => eq_rect y W w x e | ReflectF _ => F x end) => x.
case: eqP => [e _|ne]; first by case: x / e.
by rewrite inE => /orP [/eqP e|/HF] //; case: ne.
Qed.

Definition rival : 'I_4 := Ordinal (isT : (1 < 4)%N).
Lemma rival_ne : rival != best. Proof. by []. Qed.
Lemma arms_le (A : {set 'I_4}) : INR #|A| <= 4.
Proof. have : INR 4 = 4 by rewrite /=; lra. by move=> <-; apply: INR_le; apply: leq_trans (max_card _) _; rewrite card_ord. Qed.

Section Pool.
Variable Lam : R.
Hypothesis HL : 1 <= Lam <= 5.
Let Lam0 : 0 < Lam := Lam_pos HL.
Notation S := (median_elimination_arms.S theta Lam pool best).
Notation q := (q4 theta Lam 1 (/ 8)).
Let gap0 : 0 < / 8. Proof. lra. Qed.

(** * Uniform allocation on n shared rows *)
Section Uniform.
Variable n : nat.
Hypothesis Hn : 1000 <= sqrt (INR n).
Let n0 := rows_pos Hn.
Notation sample := {ffun 'I_n -> bool}.
Definition shared (i : 'I_4) (s : sample) : {ffun 'I_n -> rows (pool i)} := s.
Notation score i s := (Varm theta Lam (shared i s)).
Definition chosen (s : sample) : 'I_4 := smallest best (fun i => score i s).
Lemma chosen_smallest s i : score (chosen s) s <= score i s.
Proof. exact: (smallestP best (fun i => score i s)). Qed.
(** A sample with one label only. *)
Definition single : sample := [ffun _ => true].
Lemma single_pos : 0 < draws coin n single. Proof. by apply: draws_pos => x; exact: unif_pos. Qed.
Lemma single_tie i : score i single <= score best single.
Proof. by apply: (one_label HL (z0 := true)) => // j; rewrite ffunE. Qed.

Theorem pool_lemma_4 i : i != best ->
  0 < pr (draws coin n) (fun s => geb (score best s) (score i s)) <= 2 * q n /\ 2 * q n < 1.
Proof.
move=> ne; have Q := pool_q HL Hn; split; last lra; split.
  by apply: (pr_pos (x := single)); [exact: single_pos | apply/gebP; exact: single_tie].
apply: (lemma_4_gap Htheta Lam0 one_pos n0) => //; last exact: pool_launched.
by split; [lra | exact: pool_gap].
Qed.
Lemma chosen_rival : chosen single != best.
Proof. exact: (smallest_rival (i := rival) rival_ne (single_tie rival)). Qed.
Theorem pool_lemma_1_i : 0 < pr (draws coin n) (fun s => chosen s \notin S) <= INR #|~: S| * (2 * q n) /\ INR #|~: S| * (2 * q n) < 1.
Proof.
have Q := pool_q HL Hn; have Q0 := q_pos theta Lam 1 (/ 8) n; have C := arms_le (~: S); have C0 := pos_INR #|~: S|.
split; last by apply: (Rle_lt_trans _ (4 * (2 * / 100))); [apply: Rmult_le_compat | ]; lra.
split; first by apply: (pr_pos (x := single)); [exact: single_pos | rewrite (in_S HL) chosen_rival].
have H := @lemma_1_i theta Lam 1 Htheta Lam0 one_pos _ pool best n _ (draws coin n) shared chosen (/ 8) n0 (fun i f => erefl) chosen_smallest.
have E i : (i \notin S) = ~~ geb (Rarm theta Lam (pool best)) (Rarm theta Lam (pool i)) by rewrite inE.
apply: (Rle_trans _ _ _ (Req_le _ _ _) (Rle_trans _ _ _ (H _ gap0 (pool_launched HL Hn)) (Req_le _ _ _))).
- by apply: ex_ext => s; rewrite E.
- by move=> i; rewrite -E; exact: (pool_gaps HL).
- by rewrite /q4; congr (INR _ * _); apply: eq_card => i; rewrite !inE.
Qed.
Lemma pool_learned eps : 0 < eps -> exists learned : forall i, {ffun 'I_n -> rows (pool i)} -> ball (gram_of (pool i)) Lam,
  forall i s, emp (@surr theta Lam 1 (pool i)) s (learned i s) <= Varm theta Lam s + eps.
Proof.
move=> e0.
apply: (finite_choice_dep (T := ordinal_finType 4) (W := fun i => {ffun 'I_n -> rows (pool i)} -> ball (gram_of (pool i)) Lam)
  (fun i _ => zero Lam0 (pool i)) (P := fun i F => forall s, emp (@surr theta Lam 1 (pool i)) s (F s) <= Varm theta Lam s + eps)) => i.
exact: (learned_exists Htheta Lam0 one_pos (pool i) n e0).
Qed.
Theorem pool_regret eps delta : 0 < eps -> 0 < delta < 1 ->
  exists learned : forall i, {ffun 'I_n -> rows (pool i)} -> ball (gram_of (pool i)) Lam,
  let regret s := learned_risk theta shared learned (chosen s) s - Rarm theta Lam (pool best) in
  let all_arms := optimism theta Lam 1 n + dev theta Lam 1 n (2 * INR 4 / delta) + dev theta Lam 1 n (2 / delta) + eps in
  [/\ pr (draws coin n) (fun s => geb (regret s) (regret_1 theta Lam 1 n delta 1 + eps)) <= delta + INR #|~: S| * (2 * q n),
      pr (draws coin n) (fun s => geb (regret s) all_arms) <= delta &
      pr (draws coin n) (fun s => geb (ex coin (error theta (a := pool (chosen s)) (learned (chosen s) s)) - Rarm theta Lam (pool rival))
        all_arms) <= delta].
Proof.
move=> e0 Hd; have [learned Hl] := pool_learned e0; exists learned => regret all_arms; split.
- have H := @lemma_1_ii theta Lam 1 Htheta Lam0 one_pos _ pool n _ (draws coin n) shared chosen eps delta learned n0
     (fun i f => erefl) Hd Hl best chosen_smallest.
  by rewrite (pool_S HL) in H; apply: Rle_trans H _; apply: Rplus_le_compat_l; case: pool_lemma_1_i => [] [].
- have := @theorem_6_i theta Lam 1 Htheta Lam0 one_pos _ pool n _ (draws coin n) shared chosen eps delta learned n0
     (fun i f => erefl) Hd Hl best chosen_smallest.
  by rewrite card_ord.
- have := @theorem_6_ii theta Lam 1 Htheta Lam0 one_pos _ pool n _ (draws coin n) shared chosen eps delta learned n0
     (fun i f => erefl) Hd Hl chosen_smallest rival.
  by rewrite card_ord.
Qed.
End Uniform.

(** * Median elimination: four arms, two rounds *)
Section Median.
Variable B : nat.
Notation T := (median_elimination_arms.T (ordinal_finType 4)).
Notation N := (median_elimination_arms.N (ordinal_finType 4) B).
Notation n := (median_elimination_arms.n (ordinal_finType 4) B).
Hypothesis Hn : 1000 <= sqrt (INR (n 0)).
Lemma pool_rounds : T = 2%N.
Proof. by rewrite /median_elimination_arms.T card_ord -[4%N]/(2 ^ 2)%N up_expnK. Qed.
Notation half := (better_half best).
Lemma first_round t : (0 < N t)%N.
Proof. by rewrite /median_elimination_arms.N big_ord_recl; apply: (leq_trans (rows_pos Hn)); exact: leq_addr. Qed.
(** The rows of round t are the first N t of one shared sample. *)
Definition total := N T.-1.
Lemma prefix_le t : (t < T)%N -> (N t <= total)%N.
Proof.
rewrite /total pool_rounds; case: t => [|[|t]] // _.
by rewrite {2}/median_elimination_arms.N big_ord_recr; exact: leq_addr.
Qed.
Definition prefix_of (X : finType) (x0 : X) (t : nat) (s : {ffun 'I_total -> X}) : {ffun 'I_(N t) -> X} :=
  if (N t <= total)%N =P true is ReflectT le then prefix le s else [ffun _ => x0].
Lemma prefix_of_draws (X : finType) (d : fdist X) x0 t f : (t < T)%N ->
  ex (draws d total) (fun s => f (prefix_of x0 t s)) = ex (draws d (N t)) f.
Proof.
move=> lt; rewrite /prefix_of; case: eqP => [le|]; last by rewrite prefix_le.
exact: (prefix_distribution d le f).
Qed.
Lemma prefix_of_single (X : finType) (x0 : X) t j : prefix_of x0 t [ffun _ => x0] j = x0.
Proof. by rewrite /prefix_of; case: eqP => [le|_]; rewrite ?prefixE ffunE. Qed.
Lemma lostE A : lost S A = (best \notin A).
Proof.
rewrite /lost; apply/eqP/idP => [e|bA]; last by apply/setP => i; rewrite inE (in_S HL) inE; case: eqP => // ->; exact: negbTE.
by apply/negP => bA; have : best \in S :&: A by [rewrite inE (in_S HL) eqxx]; rewrite e inE.
Qed.
(** An arm that is dropped in the first round does not come back. *)
Lemma dropped (Omega : finType) (V : nat -> Omega -> 'I_4 -> R) w : (forall i, V 0%N w i <= V 0%N w best) ->
  best \notin alive half V T w.
Proof.
move=> le; rewrite pool_rounds /=; apply: contra (subsetP (better_half_sub best _ _) best) _.
by apply: better_half_rival => //; rewrite cardsT card_ord.
Qed.
Definition pool_rows t (i : 'I_4) (s : {ffun 'I_total -> bool}) : {ffun 'I_(N t) -> rows (pool i)} := prefix_of true t s.
Notation left_arms := (alive half (fun t s i => Varm theta Lam (pool_rows t i s)) T).
Lemma quotient_small : quotient (q (n 0)) < 1.
Proof.
have Q := pool_q HL Hn; have Q0 := q_pos theta Lam 1 (/ 8) (n 0); rewrite /quotient.
by apply: (Rmult_lt_reg_r (1 - q (n 0))); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
Qed.
Theorem pool_lemma_2_i : 0 < pr (draws coin total) (fun s => lost S (left_arms s)) <= quotient (q (n 0)) /\ quotient (q (n 0)) < 1.
Proof.
split; last exact: quotient_small; split.
  apply: (pr_pos (x := [ffun _ => true])); first by apply: draws_pos => x; exact: unif_pos.
  rewrite lostE; apply: dropped => i; apply: (one_label HL (z0 := true)) => [|j]; [exact: first_round | exact: prefix_of_single].
apply: (lemma_2_i_printed_accumulated (c := 2) Htheta Lam0 one_pos (pool_minimal HL) gap0 (pool_gaps HL) (@better_half_sub _ _)
  (@better_half_card _ _) (@better_half_small _ _) (pool_launched HL Hn) _ (pool_S HL)); first by rewrite card_ord.
by move=> t i f; exact: prefix_of_draws.
Qed.
(** The same event, bounded by the sum over the rounds. *)
Theorem pool_lemma_2_sum : pr (draws coin total) (fun s => lost S (left_arms s)) <=
  \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * (2 * q (N t)) / INR (uphalf (alive_count (ordinal_finType 4) t))).
Proof.
apply: (lemma_2_i_accumulated Htheta Lam0 one_pos (pool_minimal HL) gap0 (pool_gaps HL) (@better_half_sub _ _)
  (@better_half_card _ _) (@better_half_small _ _) (pool_launched HL Hn)) => t i f; exact: prefix_of_draws.
Qed.
(** Rows drawn anew in every round. *)
Notation J := (fun t => draws coin (n t)).
Notation fresh_scores := (fun t (s : {ffun 'I_(n t) -> bool}) i => Varm theta Lam (shared (n := n t) i s)).
Theorem pool_lemma_2_i_fresh : 0 < fail S half J fresh_scores T 0 [set: 'I_4] <= quotient (q (n 0)) /\ quotient (q (n 0)) < 1.
Proof.
split; last exact: quotient_small; split.
  rewrite pool_rounds /=; apply: (ex_pos (x := single (n 0))).
  - by move=> s; apply: ex_ge0 => s'; rewrite /ind; case: ifP; lra.
  - by apply: draws_pos => x; exact: unif_pos.
  have drop : best \notin half (fresh_scores 0%N (single (n 0))) [set: 'I_4].
    by apply: better_half_rival => [|i]; [rewrite cardsT card_ord | apply: single_tie].
  apply: (ex_pos (x := single (n 1))) => [s'||]; first by rewrite /ind; case: ifP; lra.
    by apply: draws_pos => x; exact: unif_pos.
  rewrite lostE /ind (contra (subsetP (better_half_sub best _ _) best) drop); lra.
exact: (@lemma_2_i_printed_fresh theta Lam 1 Htheta Lam0 one_pos _ pool best (/ 8) B (pool_minimal HL) gap0 (pool_gaps HL) half
   (@better_half_sub _ _) (@better_half_card _ _) (@better_half_small _ _) (pool_launched HL Hn)
   (fun t => finfun_finType (ordinal_finType (n t)) bool_finType) J (fun t i s => shared i s) (fun t i f => erefl)).
Qed.
(** The arm that is left. *)
Definition last_left (Omega : finType) (V : nat -> Omega -> 'I_4 -> R) (w : Omega) : 'I_4 := odflt best [pick i in alive half V T w].
Lemma last_left_in (Omega : finType) (V : nat -> Omega -> 'I_4 -> R) w : last_left V w \in alive half V T w.
Proof.
rewrite /last_left; case: pickP => [i //|none] /=.
have : #|alive half V T w| = 1%N by rewrite (alive_card (@better_half_card _ _)) (one_left best).
by rewrite (eq_card0 none).
Qed.
End Median.
Theorem pool_lemma_2_ii B eps delta : 0 < eps -> 0 < delta < 1 ->
  1000 <= sqrt (INR (median_elimination_arms.n (ordinal_finType 4) B 0)) ->
  let N := median_elimination_arms.N (ordinal_finType 4) B in let T := median_elimination_arms.T (ordinal_finType 4) in
  exists learned : forall i, {ffun 'I_(N T.-1) -> rows (pool i)} -> ball (gram_of (pool i)) Lam,
  pr (draws coin (total B)) (fun s => geb (learned_risk theta (pool_rows (B := B) T.-1) learned
      (last_left (fun t s i => Varm theta Lam (pool_rows (B := B) t i s)) s) s - Rarm theta Lam (pool best))
    (regret_2 theta Lam 1 (N T.-1) delta #|S| + eps)) <=
  delta + \rsum_(t : 'I_T) (INR (#|S| * #|~: S|) * (2 * q (N t)) / INR (uphalf (alive_count (ordinal_finType 4) t))).
Proof.
move=> e0 Hd Hn N T; have [learned Hl] := pool_learned (N T.-1) e0; exists learned.
apply: (@lemma_2_ii theta Lam 1 Htheta Lam0 one_pos _ pool best (/ 8) B (pool_minimal HL) gap0 (pool_gaps HL) (better_half best)
   (@better_half_sub _ _) (@better_half_card _ _) (@better_half_small _ _) (pool_launched HL Hn) _ (draws coin (total B))
   (pool_rows (B := B)) _ eps delta learned _ _ Hd Hl) => [t i f|w]; [exact: prefix_of_draws | exact: last_left_in].
Qed.
End Pool.
