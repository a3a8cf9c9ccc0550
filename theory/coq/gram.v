(** A positive semidefinite Gram matrix on a finite population: seminorm, mean embeddings, deviation of a sample mean.
    A vector a : T -> R stands for sum_x a x Phi(x); the class of an arm is the span of the population's features. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Gram.
Variables (T : finType) (K : T -> T -> R).
Notation vec := (T -> R).
Definition dot (u v : vec) : R := \rsum_x \rsum_y (u x * v y * K x y).
Definition psd := (forall x y, K x y = K y x) /\ forall u : vec, 0 <= dot u u.
Hypothesis Kpsd : psd.
Definition nrm (u : vec) : R := sqrt (dot u u).
Definition feat (x : T) : vec := fun z => ind (z == x).

Lemma dot_ext u u' v v' : (forall x, u x = u' x) -> (forall x, v x = v' x) -> dot u v = dot u' v'.
Proof. by move=> H H'; apply: eq_bigr => x _; apply: eq_bigr => y _; rewrite H H'. Qed.
Lemma dotC u v : dot u v = dot v u.
Proof.
rewrite /dot exchange_big /=; apply: eq_bigr => x _; apply: eq_bigr => y _.
by rewrite (proj1 Kpsd y x); ring.
Qed.
Lemma dot_scal a u v : dot (fun z => a * u z) v = a * dot u v.
Proof.
rewrite /dot rsum_mull; apply: eq_bigr => x _; rewrite rsum_mull; apply: eq_bigr => y _; ring.
Qed.
Lemma dot_add u u' v : dot (fun z => u z + u' z) v = dot u v + dot u' v.
Proof.
rewrite /dot -rsum_add; apply: eq_bigr => x _; rewrite -rsum_add; apply: eq_bigr => y _; ring.
Qed.
Lemma dot_sub u u' v : dot (fun z => u z - u' z) v = dot u v - dot u' v.
Proof.
rewrite /dot -rsum_sub; apply: eq_bigr => x _; rewrite -rsum_sub; apply: eq_bigr => y _; ring.
Qed.
Lemma dot_rsum (I : finType) (F : I -> vec) v : dot (fun z => \rsum_i F i z) v = \rsum_i dot (F i) v.
Proof.
rewrite /dot [RHS]exchange_big /=; apply: eq_bigr => x _.
rewrite [RHS]exchange_big /=; apply: eq_bigr => y _.
by rewrite !rsum_mulr.
Qed.
Lemma dot_scal_r a u v : dot u (fun z => a * v z) = a * dot u v.
Proof. by rewrite dotC dot_scal dotC. Qed.
Lemma dot_add_r u v v' : dot u (fun z => v z + v' z) = dot u v + dot u v'.
Proof. by rewrite dotC dot_add !(dotC u). Qed.
Lemma dot_sub_r u v v' : dot u (fun z => v z - v' z) = dot u v - dot u v'.
Proof. by rewrite dotC dot_sub !(dotC u). Qed.
Lemma dot_rsum_r (I : finType) (F : I -> vec) v : dot v (fun z => \rsum_i F i z) = \rsum_i dot v (F i).
Proof. by rewrite dotC dot_rsum; apply: eq_bigr => i _; rewrite dotC. Qed.
Lemma dot0 v : dot (fun _ => 0) v = 0.
Proof. by apply: rsum_eq0 => x; apply: rsum_eq0 => y; ring. Qed.

Lemma feat_sum (u : vec) z : \rsum_x (u x * feat x z) = u z.
Proof.
rewrite (bigD1 z) //= /feat eqxx /= big1 ?Rplus_0_r ?Rmult_1_r // => x ne.
by rewrite eq_sym (negbTE ne) /= Rmult_0_r.
Qed.
Lemma dot_feat x y : dot (feat x) (feat y) = K x y.
Proof.
rewrite /dot (bigD1 x) //= [X in _ + X]big1 => [|z ne]; last first.
  by apply: big1 => y' _; rewrite /feat (negbTE ne) /=; ring.
rewrite (bigD1 y) //= big1 => [|z ne]; last by rewrite /feat (negbTE ne) /=; ring.
by rewrite /feat !eqxx /=; ring.
Qed.

Lemma dot_ge0 u : 0 <= dot u u. Proof. exact: (proj2 Kpsd). Qed.
Lemma nrm_ge0 u : 0 <= nrm u. Proof. exact: sqrt_pos. Qed.
Lemma nrm_sq u : nrm u * nrm u = dot u u.
Proof. by rewrite sqrt_sqrt //; exact: dot_ge0. Qed.
Lemma nrm_ext u v : (forall x, u x = v x) -> nrm u = nrm v.
Proof. by move=> H; rewrite /nrm (dot_ext H H). Qed.

Lemma quad_form u v t : 0 <= dot u u - 2 * t * dot u v + t * t * dot v v.
Proof.
have := dot_ge0 (fun z => u z - t * v z).
rewrite dot_sub !dot_sub_r dot_scal !dot_scal_r (dotC v u); rewrite dot_scal; lra.
Qed.
Lemma cauchy_sq u v : dot u v * dot u v <= dot u u * dot v v.
Proof.
have U := dot_ge0 u; have V := dot_ge0 v; have Q := quad_form u v.
case: (Req_dec (dot v v) 0) => [v0|v0].
  have : dot u v = 0.
    case: (Req_dec (dot u v) 0) => // uv0.
    have := Q ((dot u u + 1) / (2 * dot u v)); rewrite v0.
    have -> : 2 * ((dot u u + 1) / (2 * dot u v)) * dot u v = dot u u + 1 by field.
    lra.
  by move=> ->; rewrite v0; lra.
have vp : 0 < dot v v by lra.
have := Q (dot u v / dot v v).
have -> : dot u u - 2 * (dot u v / dot v v) * dot u v + dot u v / dot v v * (dot u v / dot v v) * dot v v
  = (dot u u * dot v v - dot u v * dot u v) / dot v v by field.
move=> H; have := Rmult_le_pos _ _ H (Rlt_le _ _ vp).
rewrite /Rdiv Rmult_assoc Rinv_l //; lra.
Qed.
Lemma cauchy_schwarz u v : dot u v <= nrm u * nrm v.
Proof.
have N := Rmult_le_pos _ _ (nrm_ge0 u) (nrm_ge0 v).
have S := cauchy_sq u v; rewrite -!nrm_sq in S.
by apply: Rnot_lt_le => lt; nra.
Qed.
Lemma nrm_scal a u : nrm (fun z => a * u z) = Rabs a * nrm u.
Proof.
rewrite /nrm dot_scal dot_scal_r -Rmult_assoc sqrt_mult_alt; last exact: Rle_0_sqr.
by rewrite -/(Rsqr a) sqrt_Rsqr_abs.
Qed.
Lemma nrm_opp u : nrm (fun z => - u z) = nrm u.
Proof.
rewrite (nrm_ext (v := fun z => -1 * u z)); last by move=> z; ring.
by rewrite nrm_scal Rabs_left; lra.
Qed.
Lemma cauchy_abs u v : Rabs (dot u v) <= nrm u * nrm v.
Proof.
rewrite /Rabs; case: Rcase_abs => _; last exact: cauchy_schwarz.
have -> : - dot u v = dot (fun z => -1 * u z) v by rewrite dot_scal; ring.
apply: Rle_trans (cauchy_schwarz _ _) _.
rewrite nrm_scal Rabs_left; lra.
Qed.
Lemma triangle u v : nrm (fun z => u z + v z) <= nrm u + nrm v.
Proof.
have N := nrm_ge0 (fun z => u z + v z); have U := nrm_ge0 u; have V := nrm_ge0 v.
have E : nrm (fun z => u z + v z) * nrm (fun z => u z + v z) <= (nrm u + nrm v) * (nrm u + nrm v).
  rewrite nrm_sq dot_add !dot_add_r (dotC v u); have := cauchy_schwarz u v.
  by have := nrm_sq u; have := nrm_sq v; nra.
by apply: Rnot_lt_le => lt; nra.
Qed.
Lemma nrm_diff u v : nrm u - nrm v <= nrm (fun z => u z - v z).
Proof.
have := triangle (fun z => u z - v z) v.
by rewrite (nrm_ext (v := u)); [lra | move=> z; ring].
Qed.

(** The minimum of a linear function over a ball. *)
Lemma ball_bound L w u : 0 <= L -> nrm w <= L -> - (L * nrm u) <= dot w u.
Proof.
move=> L0 Hw; have := cauchy_abs w u; have := nrm_ge0 u; have := nrm_ge0 w.
move=> a b c; have := Rle_abs (- dot w u); rewrite Rabs_Ropp; nra.
Qed.
Lemma ball_attained L u : 0 <= L -> exists w, nrm w <= L /\ dot w u = - (L * nrm u).
Proof.
move=> L0; have N := nrm_ge0 u; have S := nrm_sq u.
case: (Req_dec (nrm u) 0) => [u0|u0].
  exists (fun _ => 0); rewrite dot0 u0; split; last lra.
  by rewrite /nrm dot0 sqrt_0.
exists (fun z => - (L / nrm u) * u z); split.
  rewrite nrm_scal Rabs_Ropp Rabs_right; last by apply: Rle_ge; apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rinv_0_lt_compat; lra.
  by apply: Req_le; field.
by rewrite dot_scal -S; field.
Qed.

(** Sample means of a x Phi(x). *)
Section Mean.
Variables (d : fdist T) (n : nat) (a : T -> R) (kappa : R).
Hypotheses (n0 : (0 < n)%N) (k0 : 0 <= kappa) (bounded : forall x, a x * a x * K x x <= kappa * kappa).
Definition phi (x : T) : vec := fun z => a x * feat x z.
Definition mean (s : {ffun 'I_n -> T}) : vec := fun z => / INR n * \rsum_i phi (s i) z.
Definition mu : vec := fun z => ex d (fun x => phi x z).
Let Hn : 0 < INR n. Proof. exact: INR_pos. Qed.

Lemma phi_sq x : dot (phi x) (phi x) = a x * a x * K x x.
Proof. by rewrite /phi dot_scal dot_scal_r dot_feat; ring. Qed.
Lemma phi_nrm x : nrm (phi x) <= kappa.
Proof. by rewrite -(sqrt_square _ k0); apply: sqrt_le_1_alt; rewrite phi_sq. Qed.
Lemma dot_mu v : dot mu v = ex d (fun x => dot (phi x) v).
Proof.
by rewrite /mu /ex dot_rsum; apply: eq_bigr => x _; rewrite dot_scal.
Qed.
Lemma dot_mean s v : dot (mean s) v = / INR n * \rsum_i dot (phi (s i)) v.
Proof. by rewrite /mean dot_scal dot_rsum. Qed.
Lemma ex_dot_mean v : ex (draws d n) (fun s => dot (mean s) v) = dot mu v.
Proof.
rewrite (ex_ext (fun s : {ffun 'I_n -> T} => / INR n * \rsum_i dot (phi (s i)) v)); last by move=> s; exact: dot_mean.
rewrite ex_mull ex_rsum (eq_bigr (fun _ => dot mu v)).
  by rewrite rsum_const card_ord; field; lra.
by move=> i _; rewrite (ex_marginal d i (fun x => dot (phi x) v)) dot_mu.
Qed.

(** Orthogonality: the variance of a mean. *)
Lemma ex_mean_sq : ex (draws d n) (fun s => dot (fun z => mean s z - mu z) (fun z => mean s z - mu z))
  = (ex d (fun x => a x * a x * K x x) - dot mu mu) / INR n.
Proof.
pose psi x : vec := fun z => phi x z - mu z.
have c0 v : ex d (fun x => dot (psi x) v) = 0.
  rewrite (ex_ext (fun x => dot (phi x) v - dot mu v)) => [|x]; last by rewrite dot_sub.
  by rewrite ex_sub ex_const dot_mu; ring.
have v0 : ex d (fun x => dot (psi x) (psi x)) = ex d (fun x => a x * a x * K x x) - dot mu mu.
  rewrite (ex_ext (fun x => (a x * a x * K x x - 2 * dot (phi x) mu) + dot mu mu)) => [|x].
    by rewrite ex_add ex_sub ex_mull ex_const -dot_mu; ring.
  by rewrite /psi dot_sub !dot_sub_r phi_sq (dotC mu (phi x)); ring.
have E (s : {ffun 'I_n -> T}) : dot (fun z => mean s z - mu z) (fun z => mean s z - mu z)
    = / INR n * / INR n * \rsum_i \rsum_j dot (psi (s i)) (psi (s j)).
  have e z : mean s z - mu z = / INR n * \rsum_i psi (s i) z.
    rewrite /psi rsum_sub rsum_const card_ord /mean; field; lra.
  rewrite (dot_ext e e) dot_scal dot_scal_r dot_rsum Rmult_assoc; congr (_ * (_ * _)).
  by apply: eq_bigr => i _; rewrite dot_rsum_r.
rewrite (ex_ext _ E) ex_mull ex_rsum.
rewrite (eq_bigr (fun _ => ex d (fun x => a x * a x * K x x) - dot mu mu)) => [|i _].
  by rewrite rsum_const card_ord; field; lra.
rewrite ex_rsum (bigD1 i) //= big1 => [|j ne].
  by rewrite Rplus_0_r (ex_marginal d i (fun x => dot (psi x) (psi x))).
rewrite eq_sym in ne; rewrite (ex_pair d (fun x y => dot (psi x) (psi y)) ne).
rewrite -[RHS](ex_const d 0); apply: ex_ext => x.
by rewrite -[RHS](c0 (psi x)); apply: ex_ext => y; rewrite dotC.
Qed.

(** The expected deviation of a mean, by Jensen. *)
Theorem mean_deviation : ex (draws d n) (fun s => nrm (fun z => mean s z - mu z)) <= kappa / sqrt (INR n).
Proof.
apply: Rle_trans (ex_sqrt (draws d n) (fun s => dot_ge0 _)) _.
rewrite ex_mean_sq -{1}(sqrt_square _ k0) -sqrt_div_alt //; apply: sqrt_le_1_alt.
apply: Rmult_le_compat_r; first by apply: Rlt_le; apply: Rinv_0_lt_compat.
have := dot_ge0 mu.
have : ex d (fun x => a x * a x * K x x) <= kappa * kappa by rewrite -(ex_const d (kappa * kappa)); exact: ex_le.
lra.
Qed.
Lemma mean_norm_low : nrm mu <= ex (draws d n) (fun s => nrm (mean s)).
Proof.
have N := nrm_ge0 mu.
case: (Req_dec (nrm mu) 0) => [->|ne]; first by apply: ex_ge0 => s; exact: nrm_ge0.
apply: (Rmult_le_reg_r (nrm mu)); first lra.
rewrite nrm_sq -ex_dot_mean -ex_mulr; apply: ex_le => s; exact: cauchy_schwarz.
Qed.
Lemma mean_norm_high : ex (draws d n) (fun s => nrm (mean s)) <= nrm mu + kappa / sqrt (INR n).
Proof.
apply: Rle_trans (Rplus_le_compat_l (nrm mu) _ _ mean_deviation).
rewrite -[X in _ <= X + _](ex_const (draws d n)) -ex_add; apply: ex_le => s.
by have := nrm_diff (mean s) mu; lra.
Qed.
(** Replacing one row. *)
Lemma mean_replace i (s s' : {ffun 'I_n -> T}) : (forall j, j != i -> s j = s' j) ->
  nrm (mean s) - nrm (mean s') <= / INR n * nrm (fun z => phi (s i) z - phi (s' i) z).
Proof.
move=> e; apply: Rle_trans (nrm_diff _ _) _.
rewrite (nrm_ext (v := fun z => / INR n * (phi (s i) z - phi (s' i) z))) => [|z].
  by rewrite nrm_scal Rabs_right; [lra | apply: Rle_ge; apply: Rlt_le; exact: Rinv_0_lt_compat].
rewrite /mean -Rmult_minus_distr_l -rsum_sub (bigD1 i) //= big1 => [|j ne]; first by rewrite Rplus_0_r.
by rewrite e //; ring.
Qed.
End Mean.
End Gram.
