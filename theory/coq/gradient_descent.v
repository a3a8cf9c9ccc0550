(** Projected gradient descent in a seminormed space and its regret; optimism.v builds dual certificates with it. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Projected gradient descent in a seminormed space *)
Section Descent.
Variables (T : finType) (K : T -> T -> R) (Lam : R).
Hypotheses (Kpsd : psd K) (Lam0 : 0 <= Lam).
Notation vec := (T -> R).
Notation dot := (dot K).
Notation nrm := (nrm K).
Definition shrink (w : vec) : R := if Rle_dec (nrm w) Lam then 1 else Lam / nrm w.
Definition proj (w : vec) : vec := fun z => shrink w * w z.
Lemma shrinkP w : (nrm w <= Lam /\ shrink w = 1) \/ (Lam < nrm w /\ shrink w = Lam / nrm w).
Proof. by rewrite /shrink; case: Rle_dec => [le|ng]; [left | right; split=> //; exact: Rnot_le_gt]. Qed.
Lemma proj_in w : nrm (proj w) <= Lam.
Proof.
rewrite /proj nrm_scal // /shrink; case: Rle_dec => [le|ng]; first by rewrite Rabs_right; lra.
have gt := Rnot_le_gt _ _ ng.
have w0 : 0 < nrm w by lra.
rewrite Rabs_right; last by apply: Rle_ge; apply: Rmult_le_pos => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
by apply: Req_le; field; lra.
Qed.
Definition dist2 (u v : vec) := dot (fun z => u z - v z) (fun z => u z - v z).
Lemma dist2E u v : dist2 u v = dot u u - 2 * dot u v + dot v v.
Proof. by rewrite /dist2 dot_sub !dot_sub_r // (dotC Kpsd v u); ring. Qed.
Lemma proj_dist w u : nrm u <= Lam -> dist2 (proj w) u <= dist2 w u.
Proof.
move=> Hu; rewrite !dist2E.
have -> : dot (proj w) (proj w) = shrink w * (shrink w * dot w w) by rewrite /proj dot_scal dot_scal_r.
have -> : dot (proj w) u = shrink w * dot w u by rewrite /proj dot_scal.
case: (shrinkP w) => [[_ ->]|[gt Es]]; first by rewrite !Rmult_1_l; lra.
rewrite Es; have w0 : 0 < nrm w by lra.
have C := cauchy_schwarz Kpsd w u; have S := nrm_sq Kpsd w.
set c := Lam / nrm w; have Ec : c * nrm w = Lam by rewrite /c; field; lra.
have c0 : 0 <= c by apply: Rmult_le_pos => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
have c1 : c < 1 by apply: (Rmult_lt_reg_r (nrm w)) => //; lra.
have N := nrm_ge0 K u.
have WU : dot w u <= nrm w * Lam by apply: Rle_trans C _; apply: Rmult_le_compat_l; lra.
have A : 0 <= (1 - c) * (nrm w * Lam - dot w u) by apply: Rmult_le_pos; lra.
have Bq : 0 <= (1 - c) * (nrm w * (nrm w - Lam)) by apply: Rmult_le_pos; [lra | apply: Rmult_le_pos; lra].
have E2 : c * (c * dot w w) = Lam * Lam by rewrite -S -Ec; ring.
have E3 : dot w w = nrm w * nrm w by rewrite S.
rewrite E2 E3; nra.
Qed.

Variables (w G : nat -> vec) (eta Gam : R).
Hypotheses (eta0 : 0 < eta) (start : nrm (w 0%N) <= Lam)
  (step : forall t z, w t.+1 z = proj (fun z => w t z - eta * G t z) z)
  (Gle : forall t, dot (G t) (G t) <= Gam).
Lemma iter_in t : nrm (w t) <= Lam.
Proof. by case: t => [|t] //; rewrite (nrm_ext K (step t)); exact: proj_in. Qed.
Lemma regret u N : nrm u <= Lam ->
  2 * eta * (\rsum_(t : 'I_N) dot (G t) (fun z => w t z - u z)) + dist2 (w N) u <= dist2 (w 0%N) u + INR N * (eta * eta * Gam).
Proof.
move=> Hu; elim: N => [|N IH]; first by rewrite big_ord0 /=; lra.
rewrite big_ord_recr S_INR /=; set Sm := \big[_/_]_(i < N) _ in IH *.
have P := proj_dist (fun z => w N z - eta * G N z) Hu.
have E : dist2 (w N.+1) u = dist2 (proj (fun z => w N z - eta * G N z)) u.
  by apply: dot_ext => z; rewrite step.
have E' : dist2 (fun z => w N z - eta * G N z) u = dist2 (w N) u - 2 * eta * dot (G N) (fun z => w N z - u z) + eta * eta * dot (G N) (G N).
  rewrite !dist2E dot_sub !dot_sub_r // dot_sub !dot_scal !dot_scal_r // (dotC Kpsd (w N) (G N)); ring.
have := Rmult_le_compat_l (eta * eta) _ _ (Rle_0_sqr eta) (Gle N); lra.
Qed.
Lemma regret_mean u N : (0 < N)%N -> nrm u <= Lam ->
  (\rsum_(t : 'I_N) dot (G t) (fun z => w t z - u z)) / INR N <= 2 * (Lam * Lam) / (eta * INR N) + eta * Gam / 2.
Proof.
move=> N0 Hu; have Hn := INR_pos N0; have := regret N Hu.
have : 0 <= dist2 (w N) u by exact: dot_ge0.
have : dist2 (w 0%N) u <= 4 * (Lam * Lam).
  have := triangle Kpsd (w 0%N) (fun z => - u z); rewrite nrm_opp //.
  set p := nrm (fun z => w 0%N z + - u z) => tr.
  have p0 : 0 <= p by exact: nrm_ge0.
  have <- : p * p = dist2 (w 0%N) u by rewrite /p nrm_sq.
  have pl : p <= 2 * Lam by lra.
  have := Rmult_le_compat _ _ _ _ p0 p0 pl pl; lra.
set Sm := \big[_/_]_t _ => A1 A2 A3.
have D : 2 * eta * Sm <= 4 * (Lam * Lam) + INR N * (eta * eta * Gam) by lra.
apply: (Rmult_le_reg_l (2 * eta * INR N)); first by apply: Rmult_lt_0_compat => //; lra.
have -> : 2 * eta * INR N * (Sm / INR N) = 2 * eta * Sm by field; lra.
have -> : 2 * eta * INR N * (2 * (Lam * Lam) / (eta * INR N) + eta * Gam / 2) = 4 * (Lam * Lam) + INR N * (eta * eta * Gam) by field; lra.
exact: D.
Qed.
End Descent.
