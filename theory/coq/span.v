(** The ball of the span of the rows is enough: a model in the span of a larger set of points has a projection with the
    same values on the rows and no larger norm. Minima of empirical risks over the two balls are equal. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Span.
Variables (Z : finType) (K : Z -> Z -> R) (A : finType) (point : A -> Z).
Hypothesis Kpsd : psd K.
Notation dot := (dot K).
Notation nrm := (nrm K).
(** The Gram matrix of the rows, and the element of the larger span that a vector over the rows stands for. *)
Definition rows_gram (i j : A) : R := K (point i) (point j).
Definition push (u : A -> R) : Z -> R := fun z => \rsum_i (u i * feat (point i) z).

Lemma dot_push u v : dot (push u) v = \rsum_i (u i * dot (feat (point i)) v).
Proof. by rewrite /push dot_rsum; apply: eq_bigr => i _; rewrite dot_scal. Qed.
Lemma dot_push_r u v : dot v (push u) = \rsum_i (u i * dot v (feat (point i))).
Proof. by rewrite dotC // dot_push; apply: eq_bigr => i _; rewrite dotC. Qed.
Lemma push_dot u v : dot (push u) (push v) = gram.dot rows_gram u v.
Proof.
rewrite dot_push; apply: eq_bigr => i _; rewrite dot_push_r rsum_mull; apply: eq_bigr => j _.
by rewrite dot_feat /rows_gram; ring.
Qed.
Lemma rows_psd : psd rows_gram.
Proof. by split=> [i j|u]; [exact: (proj1 Kpsd) | rewrite -push_dot; exact: dot_ge0]. Qed.
Lemma push_nrm u : nrm (push u) = gram.nrm rows_gram u.
Proof. by rewrite /gram.nrm push_dot. Qed.
Lemma push_feat i z : push (feat i) z = feat (point i) z.
Proof.
rewrite /push (bigD1 i) //= big1 => [|j ne]; last by rewrite {1}/feat (negbTE ne) /=; ring.
by rewrite {1}/feat eqxx /=; ring.
Qed.
Lemma push_value u i : dot (push u) (feat (point i)) = gram.dot rows_gram u (feat i).
Proof. by rewrite -push_dot; apply: dot_ext => z //; rewrite push_feat. Qed.

(** Orthogonal projection on the span of some rows, by induction on their list. *)
Lemma projection_list (l : seq A) (v : Z -> R) : exists u : A -> R,
  (forall i, i \notin l -> u i = 0) /\ forall i, i \in l -> dot (fun z => v z - push u z) (feat (point i)) = 0.
Proof.
elim: l v => [|b l IH] v; first by exists (fun _ => 0).
have [u [u0 Hu]] := IH v; have [ub [ub0 Hb]] := IH (feat (point b)).
pose e z := feat (point b) z - push ub z.
have orth w : (forall i, i \in l -> dot w (feat (point i)) = 0) -> dot w (push ub) = 0.
  move=> Hw; rewrite dot_push_r; apply: big1 => i _.
  by case: (boolP (i \in l)) => [/Hw ->|/ub0 ->]; ring.
have split_b w : dot w (feat (point b)) = dot w e + dot w (push ub).
  by rewrite /e dot_sub_r //; ring.
case: (Req_dec (dot e e) 0) => [e0|e0].
  exists u; split=> [i|i].
    by rewrite inE negb_or => /andP [_]; exact: u0.
  rewrite inE => /orP [/eqP ->|]; last exact: Hu.
  rewrite split_b orth // Rplus_0_r; have := cauchy_sq Kpsd (fun z => v z - push u z) e; rewrite e0 Rmult_0_r.
  by set x := dot _ _ => x2; have := Rle_0_sqr x; rewrite /Rsqr => x3; apply: Rsqr_0_uniq; rewrite /Rsqr; lra.
pose t := dot (fun z => v z - push u z) e / dot e e.
exists (fun i => u i + t * (feat b i - ub i)); split=> [i|i].
  rewrite inE negb_or => /andP [ib il]; rewrite u0 // ub0 // /feat (negbTE ib) /=; ring.
have E w : dot (fun z => v z - push (fun i => u i + t * (feat b i - ub i)) z) w
    = dot (fun z => v z - push u z) w - t * dot e w.
  rewrite /e !dot_sub !dot_push.
  have -> : \rsum_i ((u i + t * (feat b i - ub i)) * dot (feat (point i)) w)
     = \rsum_i (u i * dot (feat (point i)) w) + t * (\rsum_i (feat b i * dot (feat (point i)) w) - \rsum_i (ub i * dot (feat (point i)) w)).
    by rewrite -rsum_sub rsum_mull -rsum_add; apply: eq_bigr => j _; ring.
  have -> : \rsum_i (feat b i * dot (feat (point i)) w) = dot (feat (point b)) w.
    rewrite (bigD1 b) //= big1 => [|j ne]; first by rewrite /feat eqxx /=; ring.
    by rewrite {1}/feat (negbTE ne) /=; ring.
  by ring.
have small i' : i' \in l -> dot (fun z => v z - push (fun i => u i + t * (feat b i - ub i)) z) (feat (point i')) = 0.
  by move=> il; rewrite E Hu // Hb //; ring.
rewrite inE => /orP [/eqP ->|]; last exact: small.
rewrite split_b orth // E Rplus_0_r /t; field; exact: e0.
Qed.

Theorem projection (v : Z -> R) : exists u : A -> R,
  (forall i, gram.dot rows_gram u (feat i) = dot v (feat (point i))) /\ gram.nrm rows_gram u <= nrm v.
Proof.
have [u [_ Hu]] := projection_list (enum A) v.
have val i : dot (push u) (feat (point i)) = dot v (feat (point i)).
  by have := Hu i; rewrite mem_enum => /(_ isT); rewrite dot_sub; lra.
exists u; split=> [i|]; first by rewrite -push_value.
rewrite -push_nrm; apply: sqrt_le_1_alt.
have orth : dot v (push u) = dot (push u) (push u).
  by rewrite !dot_push_r; apply: eq_bigr => i _; rewrite val.
have := dot_ge0 Kpsd (fun z => v z - push u z); rewrite dot_sub !dot_sub_r // (dotC Kpsd (push u) v) orth; lra.
Qed.

(** * Balls *)
Variables (Lam : R).
Hypothesis Lam0 : 0 <= Lam.
Notation big := (ball K Lam).
Notation small := (ball rows_gram Lam).
Lemma push_in u : gram.nrm rows_gram u <= Lam -> nrm (push u) <= Lam.
Proof. by rewrite push_nrm. Qed.
Definition extend (f : small) : big :=
  exist _ (push (sval f).1, push (sval f).2) (conj (push_in (proj1 (svalP f))) (push_in (proj2 (svalP f)))).
Lemma extend_h f i : h (extend f) (point i) = h f i. Proof. exact: push_value. Qed.
Lemma extend_g f i : g (extend f) (point i) = g f i. Proof. exact: push_value. Qed.
Lemma restrict (f : big) : exists f' : small, forall i, h f' i = h f (point i) /\ g f' i = g f (point i).
Proof.
case: f => [[v1 v2] /= [N1 N2]].
have [u1 [V1 M1]] := projection v1; have [u2 [V2 M2]] := projection v2.
have L1 := Rle_trans _ _ _ M1 N1; have L2 := Rle_trans _ _ _ M2 N2.
by exists (exist _ (u1, u2) (conj L1 L2)) => i; rewrite /h /g /= V1 V2.
Qed.

(** The minimum of any function of the values on the rows is the same over both balls. *)
Theorem ball_of_span (F : (A -> R) -> (A -> R) -> R) (low : R) :
  (forall u v u' v', (forall i, u i = u' i) -> (forall i, v i = v' i) -> F u v = F u' v') -> (forall u v, low <= F u v) ->
  inf (fun f : small => F (h f) (g f)) = inf (fun f : big => F (fun i => h f (point i)) (fun i => g f (point i))).
Proof.
move=> Fext Flow.
have [lo1 gl1] := @inf_spec _ (ball0 rows_gram Lam0) (fun f : small => F (h f) (g f)) low (fun f => Flow _ _).
have [lo2 gl2] := @inf_spec _ (ball0 K Lam0) (fun f : big => F (fun i => h f (point i)) (fun i => g f (point i))) low (fun f => Flow _ _).
apply: Rle_antisym.
- apply: gl2 => f; have [f' Hf] := restrict f.
  by rewrite -(Fext (h f') (g f')) => [|i|i]; [exact: lo1 | exact: (proj1 (Hf i)) | exact: (proj2 (Hf i))].
- apply: gl1 => f; rewrite -(Fext (fun i => h (extend f) (point i)) (fun i => g (extend f) (point i))) => [|i|i].
  + exact: lo2.
  + exact: extend_h.
  + exact: extend_g.
Qed.
End Span.
