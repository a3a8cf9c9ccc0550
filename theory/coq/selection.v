(** Selection of a smallest score, for any scores with bounded differences and bounded bias.
    [pairwise] is the core of Theorem 2 of docs/theorems.md, [uniform_selection] of Theorem 3 (a). *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. by case=> [l|->]; [apply: Rlt_le; exact: exp_increasing | lra]. Qed.

Definition pos (x : R) := Rmax 0 x.
Lemma pos_ge0 x : 0 <= pos x. Proof. exact: Rmax_l. Qed.

Section Allocation.
Variables (T : finType) (d : fdist T) (n : nat) (D : R).
Hypotheses (n0 : (0 < n)%N) (D0 : 0 < D).
Notation sample := {ffun 'I_n -> T}.
Notation E := (ex (draws d n)).
Notation P := (pr (draws d n)).

Lemma INR_pos : 0 < INR n.
Proof. by apply: lt_0_INR; apply/ltP. Qed.

Lemma sum_sq c : \rsum_(i : 'I_n) (c / INR n * (c / INR n)) = c * c / INR n.
Proof. by rewrite rsum_const card_ord; field; move: INR_pos; lra. Qed.

(** One score, both sides. *)
Lemma score_low V t : bdiff V (fun _ => D / INR n) -> 0 <= t ->
  P (fun s => geb (E V - t) (V s)) <= exp (- (2 * INR n * (t * t) / (D * D))).
Proof.
move=> H t0; have C0 : 0 < \rsum_(i : 'I_n) (D / INR n * (D / INR n)).
  by rewrite sum_sq; apply: Rdiv_lt_0_compat; [nra | exact: INR_pos].
apply: Rle_trans (mcdiarmid_low d H t0 C0) _; apply: exp_le; rewrite sum_sq.
by apply: Req_le; field; move: INR_pos; lra.
Qed.
Lemma score_high V t : bdiff V (fun _ => D / INR n) -> 0 <= t ->
  P (fun s => geb (V s) (E V + t)) <= exp (- (2 * INR n * (t * t) / (D * D))).
Proof.
move=> H t0; have C0 : 0 < \rsum_(i : 'I_n) (D / INR n * (D / INR n)).
  by rewrite sum_sq; apply: Rdiv_lt_0_compat; [nra | exact: INR_pos].
apply: Rle_trans (mcdiarmid d H t0 C0) _; apply: exp_le; rewrite sum_sq.
by apply: Req_le; field; move: INR_pos; lra.
Qed.

(** Theorem 2, pairs independent across draws (a row of T may carry the rows of both arms). *)
Theorem pairwise V1 Vi x : bdiff V1 (fun _ => D / INR n) -> bdiff Vi (fun _ => D / INR n) ->
  E V1 + x <= E Vi ->
  P (fun s => geb (V1 s) (Vi s)) <= exp (- (INR n * (pos x * pos x) / (2 * (D * D)))).
Proof.
move=> H1 Hi Ex.
have Hn := INR_pos.
have DD : 0 < D * D by nra.
case: (Rle_dec x 0) => [le|/Rnot_le_gt gt].
  rewrite /pos Rmax_left // (_ : - _ = 0) ?exp_0; first exact: pr_le1.
  by field; lra.
rewrite /pos Rmax_right; last lra.
have HZ : bdiff (fun s => V1 s - Vi s) (fun _ => (2 * D) / INR n).
  move=> i s s' e; have := H1 i s s' e; have := Hi i s' s (fun j ne => esym (e j ne)).
  by rewrite (_ : 2 * D / INR n = D / INR n + D / INR n); [lra | field; lra].
have C0 : 0 < \rsum_(i : 'I_n) (2 * D / INR n * (2 * D / INR n)).
  by rewrite sum_sq; apply: Rdiv_lt_0_compat => //; nra.
have x0 : 0 <= x by lra.
apply: Rle_trans; last first.
  apply: Rle_trans (mcdiarmid d HZ x0 C0) _; apply: exp_le; rewrite sum_sq.
  by apply: Req_le; field; lra.
by apply: pr_sub => s /gebP L; apply/gebP; rewrite ex_sub; lra.
Qed.

(** Theorem 3 (a) for abstract scores: shared rows, per-arm gaps, any rule for ties. *)
Section Arms.
Variables (I : finType) (best : I) (V : I -> sample -> R) (risk : I -> R) (up low : R).
Hypothesis differences : forall i, bdiff (V i) (fun _ => D / INR n).
Hypothesis bias_best : E (V best) <= risk best + up.
Hypothesis bias_rival : forall i, risk i - low <= E (V i).
Definition rival i := ~~ geb (risk best) (risk i).
Definition gap i := risk i - risk best.
Definition bound := \rsum_(i | rival i) exp (- (INR n * (pos (gap i - up - low) * pos (gap i - up - low)) / (2 * (D * D)))).

Theorem uniform_allocation : P (fun s => [exists i, rival i && geb (V best s) (V i s)]) <= bound.
Proof.
apply: Rle_trans (pr_union (draws d n) rival (fun i s => geb (V best s) (V i s))) _.
apply: rsum_le => i _; apply: pairwise => //.
by have := bias_rival i; rewrite /gap; lra.
Qed.

Theorem uniform_selection (sel : sample -> I) : (forall s i, V (sel s) s <= V i s) ->
  P (fun s => rival (sel s)) <= bound.
Proof.
move=> H; apply: Rle_trans uniform_allocation; apply: pr_sub => s r.
by apply/existsP; exists (sel s); rewrite r /=; apply/gebP.
Qed.
End Arms.
End Allocation.

(** The same as a count of bad samples among the m^n. *)
Theorem uniform_count m n (x0 : 'I_m) (I : finType) (best : I) (V : I -> {ffun 'I_n -> 'I_m} -> R) (risk : I -> R) D e
    (sel : {ffun 'I_n -> 'I_m} -> I) :
  (0 < n)%N -> 0 < D ->
  (forall i, bdiff (V i) (fun _ => D / INR n)) ->
  (forall i, Rabs (ex (draws (unif x0) n) (V i) - risk i) <= e) ->
  (forall s i, V (sel s) s <= V i s) ->
  INR #|[pred s | rival best risk (sel s)]| / INR m ^ n <=
  \rsum_(i | rival best risk i)
    exp (- (INR n * (pos (risk i - risk best - e - e) * pos (risk i - risk best - e - e)) / (2 * (D * D)))).
Proof.
move=> n0 D0 Hd He Hs; rewrite -[in INR m ^ n](card_ord m) -(pr_draws_unif x0 (fun s => rival best risk (sel s))).
apply: uniform_selection => // [|i].
- by have := He best; have := Rle_abs (ex (draws (unif x0) n) (V best) - risk best); lra.
- by have := He i; have := Rle_abs (- (ex (draws (unif x0) n) (V i) - risk i)); rewrite Rabs_Ropp; lra.
Qed.
