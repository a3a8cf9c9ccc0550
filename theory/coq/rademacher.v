(** Suprema and infima over any class, symmetrisation and contraction over finite samples. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Coquelicot Require Import Rbar Lub.
From Exml Require Import finite_probability concentration selection.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Sup.
Variables (W : Type) (w0 : W).
Implicit Types F G : W -> R.
Definition inf F : R := real (Glb_Rbar (fun y => exists w, y = F w)).
Definition sup F : R := - inf (fun w => - F w).
Definition bnd F := exists M, forall w, Rabs (F w) <= M.

Lemma inf_spec F a : (forall w, a <= F w) -> (forall w, inf F <= F w) /\ (forall b, (forall w, b <= F w) -> b <= inf F).
Proof.
move=> H; have := Glb_Rbar_correct (fun y => exists w, y = F w).
rewrite /inf; case: (Glb_Rbar _) => [r| |] [lb glb] /=.
- split=> [w|b Hb]; first by apply: (lb (F w)); exists w.
  by apply: (glb (Finite b)) => y [w ->]; exact: Hb.
- by have := lb (F w0); case; exists w0.
- by have := glb (Finite a); case => y [w ->]; exact: H.
Qed.
Lemma inf_ext F G : (forall w, F w = G w) -> inf F = inf G.
Proof. by move=> H; rewrite /inf; congr real; apply: Glb_Rbar_eqset => y; split=> -[w ->]; exists w. Qed.
Lemma sup_ext F G : (forall w, F w = G w) -> sup F = sup G.
Proof. by move=> H; rewrite /sup (inf_ext (G := fun w => - G w)) // => w; rewrite H. Qed.

Lemma bnd_low F : bnd F -> exists a, forall w, a <= F w.
Proof. by case=> M H; exists (- M) => w; have := H w; have := Rle_abs (- F w); rewrite Rabs_Ropp; lra. Qed.
Lemma bnd_opp F : bnd F -> bnd (fun w => - F w).
Proof. by case=> M H; exists M => w; rewrite Rabs_Ropp. Qed.
Lemma bnd_add F G : bnd F -> bnd G -> bnd (fun w => F w + G w).
Proof.
case=> M H [M' H']; exists (M + M') => w; apply: Rle_trans (Rabs_triang _ _) _.
by have := H w; have := H' w; lra.
Qed.
Lemma bnd_scal a F : bnd F -> bnd (fun w => a * F w).
Proof.
case=> M H; exists (Rabs a * M) => w; rewrite Rabs_mult.
by apply: Rmult_le_compat_l; [exact: Rabs_pos | exact: H].
Qed.
Lemma bnd_const a : bnd (fun _ => a).
Proof. by exists (Rabs a) => w; lra. Qed.
Lemma bnd_ext F G : (forall w, F w = G w) -> bnd F -> bnd G.
Proof. by move=> e [M H]; exists M => w; rewrite -e. Qed.
Lemma bnd_sub F G : bnd F -> bnd G -> bnd (fun w => F w - G w).
Proof. by move=> H H'; apply: bnd_add => //; exact: bnd_opp. Qed.
Lemma bnd_rsum (I : finType) (H : I -> W -> R) : (forall i, bnd (H i)) -> bnd (fun w => \rsum_i H i w).
Proof.
move=> B; suff : forall s : seq I, bnd (fun w => \big[Rplus/0]_(i <- s) H i w) by apply.
elim=> [|i s IH]; first by apply: bnd_ext (bnd_const 0) => w; rewrite big_nil.
by apply: bnd_ext (bnd_add (B i) IH) => w; rewrite big_cons.
Qed.
Lemma bnd_ex (T : finType) (d : fdist T) (H : W -> T -> R) : (forall x, bnd (fun w => H w x)) -> bnd (fun w => ex d (H w)).
Proof. by move=> B; apply: bnd_rsum => x; exact: bnd_scal. Qed.

Lemma inf_le F w : bnd F -> inf F <= F w.
Proof. by case/bnd_low => a H; case: (inf_spec H). Qed.
Lemma inf_ge F b : (forall w, b <= F w) -> b <= inf F.
Proof. by move=> H; case: (inf_spec H) => _; apply. Qed.
Lemma sup_ge F w : bnd F -> F w <= sup F.
Proof. by move=> /bnd_opp B; have := inf_le w B; rewrite /sup; lra. Qed.
Lemma sup_le F b : (forall w, F w <= b) -> sup F <= b.
Proof.
move=> H; have : - b <= inf (fun w => - F w) by apply: inf_ge => w; have := H w; lra.
by rewrite /sup; lra.
Qed.
Lemma sup_add2 F G c : (forall w w', F w + G w' <= c) -> sup F + sup G <= c.
Proof.
move=> H; suff : sup F <= c - sup G by lra.
apply: sup_le => w; suff : sup G <= c - F w by lra.
by apply: sup_le => w'; have := H w w'; lra.
Qed.
Lemma sup_sub F G : bnd F -> bnd G -> sup (fun w => F w + G w) <= sup F + sup G.
Proof. by move=> B B'; apply: sup_le => w; have := sup_ge w B; have := sup_ge w B'; lra. Qed.
Lemma sup_scal a F : 0 <= a -> bnd F -> sup (fun w => a * F w) <= a * sup F.
Proof. by move=> a0 B; apply: sup_le => w; apply: Rmult_le_compat_l => //; exact: sup_ge. Qed.
End Sup.

Lemma ex_swap (S T : finType) (d : fdist S) (e : fdist T) (f : S -> T -> R) :
  ex d (fun x => ex e (f x)) = ex e (fun y => ex d (fun x => f x y)).
Proof.
rewrite /ex (eq_bigr (fun x => \rsum_y (d x * (e y * f x y)))) => [|x _]; last by rewrite rsum_mull.
rewrite exchange_big /=; apply: eq_bigr => y _; rewrite rsum_mull; apply: eq_bigr => x _; ring.
Qed.

Definition sgn : fdist bool_finType := unif true.
Definition sg (b : bool) : R := if b then 1 else -1.
Lemma ex_sgn f : ex sgn f = (f true + f false) / 2.
Proof. by rewrite ex_unif card_bool (bigD1 true) //= (bigD1 false) //= big1 => [|[]] //=; field. Qed.

Section Class.
Variables (W : Type) (w0 : W).

(** Symmetrisation, one coordinate: no ghost sample is kept. *)
Section Symmetrisation.
Variables (T : finType) (d : fdist T) (phi : W -> T -> R).
Hypothesis bphi : forall x, bnd (fun w => phi w x).

Lemma symm_one A : bnd A ->
  ex d (fun x => sup (fun w => A w + (ex d (phi w) - phi w x))) <=
  ex d (fun x => ex sgn (fun b => sup (fun w => A w + 2 * (sg b * phi w x)))).
Proof.
move=> BA.
have B1 x : bnd (fun w => A w + 2 * (1 * phi w x)) by apply: bnd_add => //; apply: bnd_scal; exact: bnd_scal.
have B2 x : bnd (fun w => A w + 2 * (-1 * phi w x)) by apply: bnd_add => //; apply: bnd_scal; exact: bnd_scal.
pose U x := sup (fun w => A w + 2 * (1 * phi w x)) / 2.
pose D x := sup (fun w => A w + 2 * (-1 * phi w x)) / 2.
rewrite [X in _ <= X](ex_ext (fun x => U x + D x)) => [|x]; last by rewrite ex_sgn /U /D /=; field.
rewrite ex_add -[X in _ <= X + _](ex_const d) -ex_add; apply: ex_le => x.
apply: sup_le => // w.
have : ex d (fun y => A w / 2 + phi w y) <= ex d U.
  by apply: ex_le => y; have := sup_ge w0 w (B1 y); rewrite /U; lra.
have := sup_ge w0 w (B2 x); rewrite ex_add ex_const /D; lra.
Qed.

Theorem symmetrisation n A : bnd A ->
  ex (draws d n) (fun s => sup (fun w => A w + \rsum_i (ex d (phi w) - phi w (s i)))) <=
  ex (draws d n) (fun s => ex (draws sgn n) (fun e => sup (fun w => A w + \rsum_i (2 * (sg (e i) * phi w (s i)))))).
Proof.
elim: n A => [|n IH] A BA.
  apply: ex_le => s; rewrite -[X in X <= _](ex_const (draws sgn 0)); apply: ex_le => e.
  by apply: Req_le; apply: sup_ext => w; rewrite !big_ord0.
rewrite !ex_drawsS.
pose Q w (s : {ffun 'I_n -> T}) (e : {ffun 'I_n -> bool}) := \rsum_i (2 * (sg (e i) * phi w (s i))).
have BQ s e : bnd (fun w => Q w s e).
  by apply: bnd_rsum => i; apply: bnd_scal; apply: bnd_scal.
apply: (Rle_trans _ (ex d (fun x => ex (draws d n) (fun s => ex (draws sgn n) (fun e =>
    sup (fun w => (A w + Q w s e) + (ex d (phi w) - phi w x))))))).
  apply: ex_le => x.
  have BA' : bnd (fun w => A w + (ex d (phi w) - phi w x)).
    by apply: bnd_add => //; apply: bnd_sub => //; exact: bnd_ex.
  apply: Rle_trans; last first.
    apply: Rle_trans (IH _ BA') _; apply: ex_le => s; apply: ex_le => e.
    by apply: Req_le; apply: sup_ext => w; rewrite /Q Rplus_assoc [X in _ + X]Rplus_comm -Rplus_assoc.
  apply: ex_le => s; apply: Req_le; apply: sup_ext => w.
  rewrite big_ord_recl fcons0 -Rplus_assoc; congr (_ + _).
  by apply: eq_bigr => i _; rewrite fconsS.
rewrite ex_swap [X in _ <= X]ex_swap; apply: ex_le => s.
rewrite ex_swap [X in _ <= X](ex_ext (fun x => ex (draws sgn n) (fun e => ex sgn (fun b =>
    sup (fun w => (A w + Q w s e) + 2 * (sg b * phi w x)))))) => [|x]; last first.
  rewrite ex_drawsS ex_swap; apply: ex_ext => e; apply: ex_ext => b; apply: sup_ext => w.
  rewrite big_ord_recl !fcons0 Rplus_assoc; congr (_ + _); rewrite Rplus_comm; congr (_ + _).
  by apply: eq_bigr => i _; rewrite !fconsS.
rewrite [X in _ <= X]ex_swap; apply: ex_le => e.
by apply: symm_one; apply: bnd_add.
Qed.
End Symmetrisation.

(** Contraction. *)
Definition lip1 (f : R -> R) := forall u v, f u - f v <= Rabs (u - v).
Lemma contract_one (A a : W -> R) f : bnd A -> bnd a -> lip1 f ->
  ex sgn (fun b => sup (fun w => A w + sg b * f (a w))) <= ex sgn (fun b => sup (fun w => A w + sg b * a w)).
Proof.
move=> BA Ba L; rewrite !ex_sgn /sg.
suff : sup (fun w => A w + 1 * f (a w)) + sup (fun w => A w + -1 * f (a w)) <=
       sup (fun w => A w + 1 * a w) + sup (fun w => A w + -1 * a w) by lra.
have B1 : bnd (fun w => A w + 1 * a w) by apply: bnd_add => //; exact: bnd_scal.
have B2 : bnd (fun w => A w + -1 * a w) by apply: bnd_add => //; exact: bnd_scal.
apply: sup_add2 => // w w'; have := L (a w) (a w').
have := sup_ge w0 w B1; have := sup_ge w0 w' B1; have := sup_ge w0 w B2; have := sup_ge w0 w' B2.
by rewrite /Rabs; case: Rcase_abs; lra.
Qed.
Lemma bnd_lip f (a : W -> R) : lip1 f -> bnd a -> bnd (fun w => f (a w)).
Proof.
move=> L [M H]; exists (Rabs (f 0) + M) => w; have := H w; have := L (a w) 0; have := L 0 (a w).
rewrite Rminus_0_l Rabs_Ropp Rminus_0_r => l1 l2 l3.
have h : Rabs (f (a w) - f 0) <= M by apply: Rabs_le; lra.
have := Rabs_triang (f (a w) - f 0) (f 0).
by rewrite (_ : f (a w) - f 0 + f 0 = f (a w)); [lra | ring].
Qed.
Theorem contraction n (A : W -> R) (a : 'I_n -> W -> R) f : bnd A -> (forall i, bnd (a i)) -> lip1 f ->
  ex (draws sgn n) (fun e => sup (fun w => A w + \rsum_i (sg (e i) * f (a i w)))) <=
  ex (draws sgn n) (fun e => sup (fun w => A w + \rsum_i (sg (e i) * a i w))).
Proof.
move=> + + L; elim: n A a => [|n IH] A a BA Ba.
  by apply: ex_le => e; apply: Req_le; apply: sup_ext => w; rewrite !big_ord0.
rewrite !ex_drawsS.
pose Q w (e : {ffun 'I_n -> bool}) := \rsum_i (sg (e i) * a (lift ord0 i) w).
have BQ e : bnd (fun w => Q w e) by apply: bnd_rsum => i; apply: bnd_scal.
apply: (Rle_trans _ (ex sgn (fun b => ex (draws sgn n) (fun e =>
    sup (fun w => (A w + Q w e) + sg b * f (a ord0 w)))))).
  apply: ex_le => b.
  have BA' : bnd (fun w => A w + sg b * f (a ord0 w)) by apply: bnd_add => //; apply: bnd_scal; exact: bnd_lip.
  apply: Rle_trans; last first.
    apply: Rle_trans (IH _ (fun i => a (lift ord0 i)) BA' (fun i => Ba _)) _; apply: ex_le => e.
    by apply: Req_le; apply: sup_ext => w; rewrite /Q Rplus_assoc [X in _ + X]Rplus_comm -Rplus_assoc.
  apply: ex_le => e; apply: Req_le; apply: sup_ext => w.
  rewrite big_ord_recl fcons0 -Rplus_assoc; congr (_ + _).
  by apply: eq_bigr => i _; rewrite fconsS.
rewrite ex_swap [X in _ <= X]ex_swap; apply: ex_le => e.
apply: Rle_trans (contract_one (bnd_add BA (BQ e)) (Ba ord0) L) _.
apply: ex_le => b; apply: Req_le; apply: sup_ext => w.
rewrite big_ord_recl fcons0 Rplus_assoc; congr (_ + _); rewrite Rplus_comm; congr (_ + _).
by apply: eq_bigr => i _; rewrite fconsS.
Qed.
End Class.
