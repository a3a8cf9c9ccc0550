(** Hoeffding's lemma (constant 1/8) and McDiarmid's inequality (both sides, sharp constant) for n independent draws
    from a finite distribution. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Coquelicot Require Import Coquelicot.
From Exml Require Import finite_probability.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Convexity of exp by its tangent. *)
Lemma exp_convex t u v : 0 <= t <= 1 -> exp (t * u + (1 - t) * v) <= t * exp u + (1 - t) * exp v.
Proof.
move=> Ht; set w := t * u + (1 - t) * v.
have Hu : exp w * (1 + (u - w)) <= exp u.
  have -> : exp u = exp w * exp (u - w) by rewrite -exp_plus; congr exp; ring.
  by apply: Rmult_le_compat_l; [apply: Rlt_le; exact: exp_pos | exact: exp_ineq1_le].
have Hv : exp w * (1 + (v - w)) <= exp v.
  have -> : exp v = exp w * exp (v - w) by rewrite -exp_plus; congr exp; ring.
  by apply: Rmult_le_compat_l; [apply: Rlt_le; exact: exp_pos | exact: exp_ineq1_le].
have A : t * (exp w * (1 + (u - w))) <= t * exp u by apply: Rmult_le_compat_l; lra.
have B : (1 - t) * (exp w * (1 + (v - w))) <= (1 - t) * exp v by apply: Rmult_le_compat_l; lra.
have E : exp w = t * (exp w * (1 + (u - w))) + (1 - t) * (exp w * (1 + (v - w))) by rewrite /w; ring.
lra.
Qed.

(** The two point case: ln(1 - p + p e^h) <= p h + h^2/8. *)
Lemma bernoulli_pos p h : 0 <= p <= 1 -> 0 < 1 - p + p * exp h.
Proof.
move=> Hp; have E := exp_pos h.
case: (Rle_lt_or_eq_dec 0 p) => [|p0|<-]; [by case: Hp | | lra].
by have := Rmult_lt_0_compat _ _ p0 E; lra.
Qed.

Lemma bernoulli_mgf p h : 0 <= p <= 1 -> 1 - p + p * exp h <= exp (p * h + h * h / 8).
Proof.
move=> Hp.
pose L x := p * x + x * x / 8 - ln (1 - p + p * exp x).
pose L1 x := p + x / 4 - p * exp x / (1 - p + p * exp x).
pose L2 x := / 4 - p * exp x * (1 - p) / ((1 - p + p * exp x) * (1 - p + p * exp x)).
have D1 x : is_derive L x (L1 x).
  rewrite /L /L1; have Q := bernoulli_pos x Hp.
  by auto_derive; [lra | field; lra].
have D2 x : is_derive L1 x (L2 x).
  rewrite /L1 /L2; have Q := bernoulli_pos x Hp.
  by auto_derive; [lra | field; lra].
have N2 x : 0 <= L2 x.
  rewrite /L2; have Q := bernoulli_pos x Hp; set e := p * exp x in Q *; set q := 1 - p in Q *.
  have P : 0 < (q + e) * (q + e) by apply: Rmult_lt_0_compat.
  have -> : / 4 - e * q / ((q + e) * (q + e)) = (q - e) * (q - e) / (4 * ((q + e) * (q + e))) by field; lra.
  by apply: Rdiv_le_0_compat; [exact: Rle_0_sqr | lra].
have L0 : L 0 = 0 by rewrite /L exp_0 (_ : 1 - p + p * 1 = 1) ?ln_1; lra.
have L10 : L1 0 = 0 by rewrite /L1 exp_0; field; lra.
have [c [Hc Ec]] : exists c, Rmin 0 h <= c <= Rmax 0 h /\ L h - L 0 = L1 c * (h - 0).
  apply: (MVT_gen L 0 h L1) => x _; first exact: D1.
  by apply/continuity_pt_filterlim; apply: ex_derive_continuous; exists (L1 x); exact: D1.
have [e [He Ee]] : exists e, Rmin 0 c <= e <= Rmax 0 c /\ L1 c - L1 0 = L2 e * (c - 0).
  apply: (MVT_gen L1 0 c L2) => x _; first exact: D2.
  by apply/continuity_pt_filterlim; apply: ex_derive_continuous; exists (L2 x); exact: D2.
have ch : 0 <= c * h.
  move: Hc; rewrite /Rmin /Rmax; case: Rle_dec => Hh Hc; nra.
have LH : 0 <= L h.
  rewrite (_ : L h = L2 e * (c * h)); last by rewrite L0 in Ec; rewrite L10 in Ee; nra.
  exact: Rmult_le_pos.
rewrite -[X in X <= _](exp_ln _ (bernoulli_pos h Hp)).
have : ln (1 - p + p * exp h) <= p * h + h * h / 8 by rewrite /L in LH; lra.
by case=> [l|->]; [apply: Rlt_le; exact: exp_increasing | lra].
Qed.

(** Hoeffding's lemma. *)
Theorem hoeffding_lemma (T : finType) (d : fdist T) (X : T -> R) a b l :
  (forall x, a <= X x <= b) -> ex d X = 0 ->
  ex d (fun x => exp (l * X x)) <= exp (l * l * ((b - a) * (b - a)) / 8).
Proof.
move=> H E0; have [a0 b0] := ex_bounds d H; rewrite E0 in a0 b0.
case: (Req_dec a b) => [eab|nab].
  have X0 x : X x = 0 by move: (H x); lra.
  rewrite (ex_ext (fun _ => 1)); last by move=> x; rewrite X0 Rmult_0_r exp_0.
  rewrite ex_const eab (_ : l * l * _ / 8 = 0) ?exp_0; [lra | field].
have ab : 0 < b - a by lra.
pose p := - a / (b - a).
have Hp : 0 <= p <= 1.
  by split; rewrite /p; [apply: Rdiv_le_0_compat; lra | apply/Rle_div_l; lra].
apply: (Rle_trans _ (ex d (fun x => (X x - a) / (b - a) * exp (l * b) + (1 - (X x - a) / (b - a)) * exp (l * a)))).
  apply: ex_le => x; have Hx := H x.
  have -> : l * X x = (X x - a) / (b - a) * (l * b) + (1 - (X x - a) / (b - a)) * (l * a) by field; lra.
  by apply: exp_convex; split; [apply: Rdiv_le_0_compat; lra | apply/Rle_div_l; lra].
rewrite (ex_ext (fun x => X x * ((exp (l * b) - exp (l * a)) / (b - a)) + (p * exp (l * b) + (1 - p) * exp (l * a))));
  last by move=> x; rewrite /p; field; lra.
rewrite ex_add ex_mulr ex_const E0 Rmult_0_l Rplus_0_l.
have -> : p * exp (l * b) + (1 - p) * exp (l * a) = exp (l * a) * (1 - p + p * exp (l * (b - a))).
  have -> : exp (l * b) = exp (l * a) * exp (l * (b - a)) by rewrite -exp_plus; congr exp; ring.
  ring.
apply: Rle_trans.
  by apply: Rmult_le_compat_l (bernoulli_mgf (l * (b - a)) Hp); apply: Rlt_le; exact: exp_pos.
rewrite -exp_plus; apply: Req_le; congr exp; rewrite /p; field; lra.
Qed.

(** The same without centring, and with a range in place of two ends. *)
Lemma hoeffding_range (T : finType) (d : fdist T) (X : T -> R) c l :
  (forall x y, X x - X y <= c) ->
  ex d (fun x => exp (l * (X x - ex d X))) <= exp (l * l * (c * c) / 8).
Proof.
move=> H.
case: (pickP (fun _ : T => true)) => [x0 _|none]; last first.
  have : \rsum_x d x = 0 by apply: big1 => x; have := none x.
  by rewrite pmf_sum => /R1_neq_R0.
(* the smallest value *)
have [m Hm] : exists m, forall x, X m <= X x.
  have : forall s : seq T, s != [::] -> exists m, forall x, x \in s -> X m <= X x.
    elim=> [//|y [|z s] IH] _; first by exists y => x; rewrite inE => /eqP ->; lra.
    have [//|m Hm] := IH.
    case: (Rle_dec (X m) (X y)) => [le|gt].
      by exists m => x; rewrite inE => /orP [/eqP ->|/Hm].
    exists y => x; rewrite inE => /orP [/eqP ->|/Hm]; lra.
  move=> /(_ (enum T)) []; first by apply/eqP => e; have := mem_enum T x0; rewrite e.
  by move=> m Hm; exists m => x; apply: Hm; rewrite mem_enum.
have -> : c = (X m + c - ex d X) - (X m - ex d X) by ring.
apply: (@hoeffding_lemma _ _ (fun x => X x - ex d X)); last by rewrite ex_sub ex_const; ring.
by move=> x; have := H x m; have := Hm x; lra.
Qed.

(** Bounded differences. *)
Definition bdiff (T : finType) n (f : {ffun 'I_n -> T} -> R) (c : 'I_n -> R) :=
  forall i (s s' : {ffun 'I_n -> T}), (forall j, j != i -> s j = s' j) -> f s - f s' <= c i.

Theorem mcdiarmid_mgf (T : finType) (d : fdist T) n (f : {ffun 'I_n -> T} -> R) c l : bdiff f c ->
  ex (draws d n) (fun s => exp (l * (f s - ex (draws d n) f))) <= exp (l * l * (\rsum_i (c i * c i)) / 8).
Proof.
elim: n f c => [|n IH] f c H.
  rewrite big_ord0 (ex_ext (fun _ => 1)).
    by rewrite ex_const (_ : l * l * 0 / 8 = 0) ?exp_0; [lra | field].
  by move=> s; rewrite (ex_draws0 _ f s) Rminus_eq_0 Rmult_0_r exp_0.
rewrite ex_drawsS big_ord_recl.
set S := \big[_/_]_(i < n) _.
pose g x := ex (draws d n) (fun s => f (fcons x s)).
have -> : ex (draws d n.+1) f = ex d g by rewrite ex_drawsS.
apply: (Rle_trans _ (ex d (fun x => exp (l * (g x - ex d g)) * exp (l * l * S / 8)))).
  apply: ex_le => x.
  apply: (Rle_trans _ (exp (l * (g x - ex d g)) * ex (draws d n) (fun s => exp (l * (f (fcons x s) - g x))))).
    rewrite -ex_mull; apply: Req_le; apply: ex_ext => s.
    by rewrite -exp_plus; congr exp; ring.
  apply: Rmult_le_compat_l; first by apply: Rlt_le; exact: exp_pos.
  apply: (IH (fun s => f (fcons x s)) (fun j => c (lift ord0 j))) => i s s' e.
  apply: H => j; case: (unliftP ord0 j) => [k ->|-> _]; last by rewrite !fcons0.
  by move=> ne; rewrite !fconsS; apply: e; apply: contraNneq ne => ->.
rewrite ex_mulr.
have -> : l * l * (c ord0 * c ord0 + S) / 8 = l * l * (c ord0 * c ord0) / 8 + l * l * S / 8 by field.
rewrite exp_plus; apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: exp_pos.
apply: hoeffding_range => x y.
rewrite /g -ex_sub -[X in _ <= X](ex_const (draws d n)); apply: ex_le => s.
apply: H => j; case: (unliftP ord0 j) => [k -> _|->]; last by rewrite eqxx.
by rewrite !fconsS.
Qed.

Definition geb (x y : R) : bool := if Rle_dec y x then true else false.
Lemma gebP x y : reflect (y <= x) (geb x y).
Proof. by rewrite /geb; case: Rle_dec => H; constructor. Qed.

Theorem mcdiarmid (T : finType) (d : fdist T) n (f : {ffun 'I_n -> T} -> R) c t : bdiff f c -> 0 <= t ->
  0 < \rsum_i (c i * c i) ->
  pr (draws d n) (fun s => geb (f s) (ex (draws d n) f + t)) <= exp (- (2 * (t * t)) / \rsum_i (c i * c i)).
Proof.
move=> H t0 C0; set C := \big[_/_]_i _ in C0 *; set m := ex _ f.
pose l := 4 * t / C.
have l0 : 0 <= l by apply: Rdiv_le_0_compat; lra.
apply: Rle_trans; first apply: (@chernoff _ _ (fun s => f s - m) l t _ l0).
  by move=> s /gebP; lra.
apply: Rle_trans.
  by apply: Rmult_le_compat_l (mcdiarmid_mgf d l H); apply: Rlt_le; exact: exp_pos.
rewrite -exp_plus -/C; apply: Req_le; congr exp; rewrite /l; field; lra.
Qed.

Lemma bdiff_opp (T : finType) n (f : {ffun 'I_n -> T} -> R) c : bdiff f c -> bdiff (fun s => - f s) c.
Proof. by move=> H i s s' e; have := H i s' s (fun j ne => esym (e j ne)); lra. Qed.

Theorem mcdiarmid_low (T : finType) (d : fdist T) n (f : {ffun 'I_n -> T} -> R) c t : bdiff f c -> 0 <= t ->
  0 < \rsum_i (c i * c i) ->
  pr (draws d n) (fun s => geb (ex (draws d n) f - t) (f s)) <= exp (- (2 * (t * t)) / \rsum_i (c i * c i)).
Proof.
move=> H t0 C0; apply: Rle_trans (mcdiarmid d (bdiff_opp H) t0 C0).
by apply: pr_sub => s /gebP L; apply/gebP; rewrite ex_opp; lra.
Qed.
