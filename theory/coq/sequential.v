(** Ville's inequality for finite horizons, and the evidence of Theorems C1 and C6 of docs/theorems.md. The distribution of
    the next outcome may depend on the whole past in any way, so every sampling rule is covered. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop.
From Exml Require Import finite_probability concentration rademacher.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Process.
Variables (T : finType) (next : seq T -> fdist T).
(** The expectation of a function of the history after N more outcomes. *)
Fixpoint path_ex (N : nat) (past : seq T) (F : seq T -> R) : R :=
  if N is N'.+1 then ex (next past) (fun x => path_ex N' (rcons past x) F) else F past.
Definition supermartingale (M : seq T -> R) : Prop :=
  (forall past, 0 <= M past) /\ forall past, ex (next past) (fun x => M (rcons past x)) <= M past.
(** M reaches c at some time between now and N outcomes later. *)
Definition reaches (M : seq T -> R) (c : R) (N : nat) (past path : seq T) : bool :=
  [exists k : 'I_N.+1, geb (M (take (size past + k) path)) c].

Lemma path_ex_le N past F G : (forall s, size s = N -> F (past ++ s) <= G (past ++ s)) -> path_ex N past F <= path_ex N past G.
Proof.
elim: N past => [|N IH] past H /=; first by have := H [::] erefl; rewrite cats0.
apply: ex_le => x; apply: IH => s Hs; rewrite cat_rcons; apply: H; by rewrite /= Hs.
Qed.
Lemma path_ex_const N past c : path_ex N past (fun _ => c) = c.
Proof. by elim: N past => [|N IH] past //=; rewrite (ex_ext (fun _ => c)) ?ex_const. Qed.

(** Ville's inequality. *)
Theorem ville (M : seq T -> R) c N past : supermartingale M -> 0 < c ->
  path_ex N past (fun path => ind (reaches M c N past path)) <= M past / c.
Proof.
move=> [M0 HM] c0.
have ind1 b : ind b <= 1 by case: b => /=; lra.
have low h : 0 <= M h / c by apply: Rmult_le_pos => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
have big h k : c <= M h -> path_ex k h (fun path => ind (reaches M c k h path)) <= M h / c.
  move=> le; apply: (Rle_trans _ 1).
    by rewrite -[X in _ <= X](path_ex_const k h); apply: path_ex_le.
  by apply: (Rmult_le_reg_r c) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
elim: N past => [|N IH] past.
  case: (Rle_dec c (M past)) => [le|gt]; first exact: big.
  rewrite /= /ind.
  case: ifP => [/existsP [[k lt] /gebP]|_] //=.
  by case: k lt => // lt; rewrite addn0 take_size.
case: (Rle_dec c (M past)) => [le|gt]; first exact: big.
rewrite /=.
apply: (Rle_trans _ (ex (next past) (fun x => M (rcons past x) / c))); last first.
  by rewrite ex_mulr; apply: Rmult_le_compat_r; [apply: Rlt_le; exact: Rinv_0_lt_compat | exact: HM].
apply: ex_le => x; apply: Rle_trans (IH (rcons past x)); apply: path_ex_le => s _.
rewrite /ind; case: ifP => [/existsP [[k lt] /gebP le]|_]; last by case: ifP => _; lra.
suff -> : reaches M c N (rcons past x) (rcons past x ++ s) by lra.
case: k lt le => [|k] lt /= le; first by case: gt; move: le; rewrite addn0 cat_rcons take_size_cat.
by apply/existsP; exists (Ordinal (lt : (k < N.+1)%N)); apply/gebP; rewrite /= size_rcons addSnnS.
Qed.
(** A procedure that acts only when M >= 1/alpha errs with probability at most alpha. *)
Theorem anytime (M : seq T -> R) alpha N : supermartingale M -> M [::] <= 1 -> 0 < alpha ->
  path_ex N [::] (fun path => ind (reaches M (/ alpha) N [::] path)) <= alpha.
Proof.
move=> HM M1 a0; apply: Rle_trans (ville N [::] HM (Rinv_0_lt_compat _ a0)) _.
by rewrite /Rdiv Rinv_involutive; [apply: (Rmult_le_reg_r (/ alpha)); [exact: Rinv_0_lt_compat | rewrite Rmult_assoc Rinv_r; lra] | lra].
Qed.

(** * Trials that fail or succeed *)
Variable fails : T -> bool.
Definition failures (past : seq T) : nat := count fails past.
Definition successes (past : seq T) : nat := count (fun x => ~~ fails x) past.
(** moment S F is the mean of q^S (1 - q)^F over a mixing distribution of q; it has these three properties. *)
Variable moment : nat -> nat -> R.
Hypotheses (moment_ge0 : forall s f, 0 <= moment s f)
           (moment_split : forall s f, moment s f = moment s.+1 f + moment s f.+1) (moment_start : moment 0 0 = 1).
Definition evidence (bound : R) (past : seq T) : R :=
  moment (failures past) (successes past) / (bound ^ failures past * (1 - bound) ^ successes past).

Lemma failures_rcons past x : failures (rcons past x) = (failures past + fails x)%N.
Proof. by rewrite /failures -cats1 count_cat /= addn0. Qed.
Lemma successes_rcons past x : successes (rcons past x) = (successes past + ~~ fails x)%N.
Proof. by rewrite /successes -cats1 count_cat /= addn0. Qed.
Lemma pr_compl (d : fdist T) (A : pred T) : pr d (fun x => ~~ A x) = 1 - pr d A.
Proof. by rewrite -(ex_const d 1) -ex_sub; apply: ex_ext => x; case: (A x) => /=; lra. Qed.

Lemma evidence_start bound : evidence bound [::] = 1.
Proof. by rewrite /evidence /= moment_start; field. Qed.
Lemma evidence_next bound past : 0 < bound < 1 -> let p := pr (next past) fails in
  ex (next past) (fun x => evidence bound (rcons past x)) =
  (p * moment (failures past).+1 (successes past) / bound + (1 - p) * moment (failures past) (successes past).+1 / (1 - bound))
  / (bound ^ failures past * (1 - bound) ^ successes past).
Proof.
move=> Hb p; set s := failures past; set f := successes past.
have b0 := pow_lt bound s (proj1 Hb); have b1 := pow_lt (1 - bound) f ltac:(lra).
rewrite (ex_ext (fun x => ind (fails x) * (moment s.+1 f / (bound ^ s.+1 * (1 - bound) ^ f))
   + ind (~~ fails x) * (moment s f.+1 / (bound ^ s * (1 - bound) ^ f.+1)))) => [|x].
  rewrite ex_add !ex_mulr -/(pr (next past) fails) -/(pr (next past) (fun x => ~~ fails x)) pr_compl -/p /=.
  by field; lra.
rewrite /evidence failures_rcons successes_rcons -/s -/f.
by case: (fails x); rewrite ?[true : nat]/1%N ?[false : nat]/0%N !(addn0, addn1) [ind _]/= [ind _]/=; ring.
Qed.
Lemma evidence_ge0 bound past : 0 < bound < 1 -> 0 <= evidence bound past.
Proof.
move=> Hb; apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rinv_0_lt_compat.
by apply: Rmult_lt_0_compat; apply: pow_lt; lra.
Qed.

(** Theorem C6: if q <= bound on the mixing distribution, and every trial fails with conditional probability at least the bound,
    the evidence that the failure probability is below the bound is a supermartingale. *)
Theorem certificate_evidence bound : 0 < bound < 1 ->
  (forall s f, moment s.+1 f <= bound * moment s f) -> (forall past, bound <= pr (next past) fails) ->
  supermartingale (evidence bound).
Proof.
move=> Hb Hm Hp; split=> past; first exact: evidence_ge0.
rewrite evidence_next // /evidence; set s := failures past; set f := successes past; set p := pr _ _.
have c0 : 0 < bound ^ s * (1 - bound) ^ f by apply: Rmult_lt_0_compat; apply: pow_lt; lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
have pb : bound <= p by exact: Hp.
have := Hm s f; have := moment_split s f; have := moment_ge0 s.+1 f; have := moment_ge0 s f.+1.
move: (moment s f) (moment s.+1 f) (moment s f.+1) => u v w w0 v0 E le.
suff : p * v / bound + (1 - p) * w / (1 - bound) - u = (p - bound) * (v - bound * u) / (bound * (1 - bound)).
  move=> id; suff : (p - bound) * (v - bound * u) / (bound * (1 - bound)) <= 0 by lra.
  rewrite /Rdiv -(Rmult_0_l (/ (bound * (1 - bound)))); apply: Rmult_le_compat_r; last by nra.
  by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
by rewrite E; field; lra.
Qed.
Theorem certificate bound alpha N : 0 < bound < 1 -> 0 < alpha ->
  (forall s f, moment s.+1 f <= bound * moment s f) -> (forall past, bound <= pr (next past) fails) ->
  path_ex N [::] (fun path => ind (reaches (evidence bound) (/ alpha) N [::] path)) <= alpha.
Proof. by move=> Hb a0 Hm Hp; apply: anytime => //; [exact: certificate_evidence | rewrite evidence_start; lra]. Qed.

(** Theorem C1 for pulls in {0, 1}: with conditional mean mu the evidence at mu is a martingale for every mixing
    distribution. *)
Theorem mean_evidence mu : 0 < mu < 1 -> (forall past, pr (next past) fails = mu) -> supermartingale (evidence mu).
Proof.
move=> Hb Hp; split=> past; first exact: evidence_ge0.
rewrite evidence_next // Hp /evidence; set s := failures past; set f := successes past.
have b0 := pow_lt mu s (proj1 Hb); have b1 := pow_lt (1 - mu) f ltac:(lra).
by rewrite (moment_split s f); apply: Req_le; field; lra.
Qed.
End Process.

(** * Mixing distributions *)
(** Finitely many rates q. *)
Section FiniteMixture.
Variables (Q : finType) (w : fdist Q) (rate : Q -> R).
Hypothesis Hq : forall j, 0 <= rate j <= 1.
Definition finite_moment (s f : nat) : R := ex w (fun j => rate j ^ s * (1 - rate j) ^ f).
Lemma finite_moment_ge0 s f : 0 <= finite_moment s f.
Proof. by apply: ex_ge0 => j; apply: Rmult_le_pos; apply: pow_le; have := Hq j; lra. Qed.
Lemma finite_moment_split s f : finite_moment s f = finite_moment s.+1 f + finite_moment s f.+1.
Proof. by rewrite /finite_moment -ex_add; apply: ex_ext => j /=; ring. Qed.
Lemma finite_moment_start : finite_moment 0 0 = 1.
Proof. by rewrite -[RHS](ex_const w); apply: ex_ext => j /=; ring. Qed.
Lemma finite_moment_below bound : (forall j, rate j <= bound) -> forall s f, finite_moment s.+1 f <= bound * finite_moment s f.
Proof.
move=> H s f; rewrite /finite_moment -ex_mull; apply: ex_le => j /=.
have p : 0 <= rate j ^ s * (1 - rate j) ^ f by apply: Rmult_le_pos; apply: pow_le; have := Hq j; lra.
by have := Rmult_le_compat_r _ _ _ p (H j); rewrite -!Rmult_assoc; lra.
Qed.
End FiniteMixture.

(** Jeffreys' distribution Beta(1/2, 1/2): the moments of Krichevsky and Trofimov. *)
Fixpoint jeffreys_f (f : nat) : R := if f is f'.+1 then jeffreys_f f' * ((INR f' + / 2) / (INR f' + 1)) else 1.
Fixpoint jeffreys (s f : nat) : R := if s is s'.+1 then jeffreys s' f * ((INR s' + / 2) / (INR s' + INR f + 1)) else jeffreys_f f.
Lemma jeffreys_ge0 s f : 0 <= jeffreys s f.
Proof.
have F : forall k, 0 <= jeffreys_f k.
  by elim=> [|k IH] /=; [lra | apply: Rmult_le_pos => //; have := pos_INR k => ?; apply: Rlt_le; apply: Rdiv_lt_0_compat; lra].
elim: s => [|s IH] /=; first exact: F.
by apply: Rmult_le_pos => //; have := pos_INR s; have := pos_INR f => ? ?; apply: Rlt_le; apply: Rdiv_lt_0_compat; lra.
Qed.
Lemma jeffreys_f_next s f : jeffreys s f.+1 = jeffreys s f * ((INR f + / 2) / (INR s + INR f + 1)).
Proof.
have f0 := pos_INR f.
elim: s => [|s IH]; first by rewrite /= Rplus_0_l.
have s0 := pos_INR s.
have -> : jeffreys s.+1 f.+1 = jeffreys s f.+1 * ((INR s + / 2) / (INR s + INR f.+1 + 1)) by [].
have -> : jeffreys s.+1 f = jeffreys s f * ((INR s + / 2) / (INR s + INR f + 1)) by [].
by rewrite IH !S_INR; field; lra.
Qed.
Lemma jeffreys_split s f : jeffreys s f = jeffreys s.+1 f + jeffreys s f.+1.
Proof.
rewrite jeffreys_f_next -[jeffreys s.+1 f]/(jeffreys s f * ((INR s + / 2) / (INR s + INR f + 1))).
by have := pos_INR s; have := pos_INR f => ? ?; field; lra.
Qed.

(** * Pulls in [0, 1] *)
Section Bounded.
Variables (T : finType) (next : seq T -> fdist T) (value : T -> R) (Q : finType) (w : fdist Q) (rate : Q -> R) (mu : R).
Hypotheses (Hv : forall x, 0 <= value x <= 1) (Hq : forall j, 0 < rate j < 1) (Hmu : 0 < mu < 1)
           (mean : forall past, ex (next past) value = mu).
(** The factor (q/mu)^x ((1 - q)/(1 - mu))^(1 - x) of a pull x. *)
Definition factor (q x : R) : R := exp (x * ln (q / mu) + (1 - x) * ln ((1 - q) / (1 - mu))).
Definition product (q : R) (past : seq T) : R := foldr (fun x p => factor q (value x) * p) 1 past.
Definition pull_evidence (past : seq T) : R := ex w (fun j => product (rate j) past).

Lemma product_rcons q past x : product q (rcons past x) = product q past * factor q (value x).
Proof. by elim: past => [|z past IH] /=; [ring | rewrite IH; ring]. Qed.
Lemma product_ge0 q past : 0 <= product q past.
Proof. by elim: past => [|z past IH] /=; [lra | apply: Rmult_le_pos => //; apply: Rlt_le; exact: exp_pos]. Qed.
Lemma factor_mean q past : 0 < q < 1 -> ex (next past) (fun x => factor q (value x)) <= 1.
Proof.
move=> H; have A : 0 < q / mu by apply: Rdiv_lt_0_compat; lra.
have B : 0 < (1 - q) / (1 - mu) by apply: Rdiv_lt_0_compat; lra.
apply: (Rle_trans _ (ex (next past) (fun x => value x * (q / mu) + (1 - value x) * ((1 - q) / (1 - mu))))).
  apply: ex_le => x; have := @exp_convex (value x) (ln (q / mu)) (ln ((1 - q) / (1 - mu))) (Hv x).
  by rewrite !exp_ln.
by rewrite ex_add !ex_mulr ex_sub ex_const mean; apply: Req_le; field; lra.
Qed.
(** Theorem C1 for finitely many rates q. *)
Theorem pull_evidence_supermartingale : supermartingale next pull_evidence.
Proof.
split=> past; first by apply: ex_ge0 => j; exact: product_ge0.
rewrite /pull_evidence ex_swap; apply: ex_le => j.
rewrite (ex_ext (fun x => product (rate j) past * factor (rate j) (value x))) => [|x]; last exact: product_rcons.
by rewrite ex_mull -[X in _ <= X]Rmult_1_r; apply: Rmult_le_compat_l; [exact: product_ge0 | exact: factor_mean].
Qed.
Theorem pull_certificate alpha N : 0 < alpha ->
  path_ex next N [::] (fun path => ind (reaches pull_evidence (/ alpha) N [::] path)) <= alpha.
Proof.
move=> a0; apply: anytime => //; first exact: pull_evidence_supermartingale.
by rewrite -[X in _ <= X](ex_const w); apply: ex_le => j /=; lra.
Qed.
End Bounded.
