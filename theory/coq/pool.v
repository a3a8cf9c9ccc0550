(** A pool of four arms on which the theorems say something: rules for ties, rows, risks, and a sample on which the best arm
    loses. A row is a label; the feature of arm 0 is the label, the other features are constant. theta = 1/4, kappa = 1,
    1 <= Lambda <= 5. *)
From Coq Require Import Reals Lra Psatz.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice path fintype finfun bigop finset.
From Exml Require Import finite_probability concentration selection gram rademacher arm bayes uniform_allocation.
From Exml Require Import median_elimination median_elimination_arms registry_arms.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * Rules that prefer every other arm to [last] if scores are equal *)
Section Rules.
Variables (I : finType) (last : I).
Implicit Types (v : I -> R) (A : {set I}).
Definition before v : rel I := fun i j => geb (v j) (v i) && [|| ~~ geb (v i) (v j), i != last | j == last].
Lemma before_le v i j : before v i j -> v i <= v j. Proof. by case/andP => /gebP. Qed.
Lemma before_total v : total (before v).
Proof.
move=> i j; apply/orP; rewrite /before; case: (Rle_dec (v i) (v j)) => ij; case: (Rle_dec (v j) (v i)) => ji; try lra.
- case: (eqVneq i last) => _; [right|left]; by rewrite /= !orbT andbT; apply/gebP; lra.
- by left; apply/andP; split; [apply/gebP | apply/orP; left; apply/gebP].
- by right; apply/andP; split; [apply/gebP | apply/orP; left; apply/gebP].
Qed.
Lemma before_trans v : transitive (before v).
Proof.
move=> j i k /andP [/gebP ij Hij] /andP [/gebP jk Hjk]; apply/andP; split; first by apply/gebP; lra.
case: (boolP (geb (v i) (v k))) => [/gebP ki|//] /=.
move: Hij Hjk; have -> : geb (v i) (v j) by apply/gebP; lra.
have -> /= : geb (v j) (v k) by apply/gebP; lra.
by case: (i != last) => //= /eqP ->; rewrite eqxx.
Qed.
Lemma before_last v i : i != last -> v i <= v last -> ~~ before v last i.
Proof. by move=> ne le; rewrite /before eqxx (negbTE ne) /= !orbF negb_and negbK; apply/orP; right; apply/gebP. Qed.

Definition smallest v : I := odflt last [pick i | [forall j, before v i j]].
Lemma smallest_before v j : before v (smallest v) j.
Proof.
rewrite /smallest; case: pickP => [i /forallP //|none] /=.
suff [i Hi] : exists i, forall j, before v i j by have := none i; move/negbT/negP; case; apply/forallP.
have : forall s : seq I, s != [::] -> exists i, forall j, j \in s -> before v i j.
  elim=> [//|y [|z s] IH] _; first by exists y => x; rewrite inE => /eqP ->; have := before_total v y y; rewrite orbb.
  have [//|i Hi] := IH; case/orP: (before_total v i y) => le.
    by exists i => x; rewrite inE => /orP [/eqP ->|/Hi].
  exists y => x; rewrite inE => /orP [/eqP ->|/Hi]; last exact: before_trans.
  by have := before_total v y y; rewrite orbb.
move=> /(_ (enum I)) []; first by apply/eqP => e; have := mem_enum I last; rewrite e.
by move=> i Hi; exists i => k; apply: Hi; rewrite mem_enum.
Qed.
Lemma smallestP v j : v (smallest v) <= v j. Proof. exact: before_le (smallest_before v j). Qed.
Lemma smallest_rival v i : i != last -> v i <= v last -> smallest v != last.
Proof. by move=> ne le; apply/eqP => e; have := smallest_before v i; rewrite e (negbTE (before_last ne le)). Qed.

(** Keep the better half, rounded up. *)
Definition ranked v A : seq I := sort (before v) (enum A).
Definition better_half v A : {set I} := [set i in take (uphalf #|A|) (ranked v A)].
Lemma better_half_sub v A : better_half v A \subset A.
Proof. by apply/subsetP => i; rewrite inE => /mem_take; rewrite mem_sort mem_enum. Qed.
Lemma better_half_card v A : #|better_half v A| = uphalf #|A|.
Proof.
have uni : uniq (take (uphalf #|A|) (ranked v A)) by apply: take_uniq; rewrite sort_uniq enum_uniq.
rewrite cardsE (card_uniqP uni).
have le : (uphalf #|A| <= size (ranked v A))%N by rewrite size_sort -cardE leq_uphalf_double -addnn leq_addr.
by rewrite size_takel.
Qed.
Lemma better_half_before v A i j : i \in better_half v A -> j \in A -> j \notin better_half v A -> before v i j.
Proof.
rewrite !inE => iT jA jT; have := sort_sorted (@before_total v) (enum A).
rewrite -/(ranked v A) (sorted_pairwise (@before_trans v)) -(cat_take_drop (uphalf #|A|) (ranked v A)) pairwise_cat.
case/and3P => /allrelP H _ _; apply: H => //.
have : j \in ranked v A by rewrite mem_sort mem_enum.
by rewrite -{1}(cat_take_drop (uphalf #|A|) (ranked v A)) mem_cat (negbTE jT).
Qed.
Lemma better_half_small v A i j : i \in better_half v A -> j \in A -> j \notin better_half v A -> v i <= v j.
Proof. by move=> iT jA jT; exact: before_le (better_half_before iT jA jT). Qed.
Lemma better_half_rival v A : (1 < #|A|)%N -> (forall i, v i <= v last) -> last \notin better_half v A.
Proof.
move=> A1 le; apply/negP => keep.
have lt : (#|better_half v A| < #|A|)%N by rewrite better_half_card; case: #|A| A1 => [|[|a]] // _; rewrite /= !ltnS leq_uphalf_double -addnn leq_addr.
have /subsetPn [j jA jK] : ~~ (A \subset better_half v A) by apply/negP => /subset_leq_card; rewrite leqNgt lt.
have ne : j != last by apply: contraNneq jK => ->.
by have := better_half_before keep jA jK; rewrite (negbTE (before_last ne (le j))).
Qed.
End Rules.

(** * The pool *)
Definition theta := / 4.
Lemma Htheta : 0 < theta < / 2. Proof. rewrite /theta; lra. Qed.
Lemma one_pos : 0 < 1. Proof. lra. Qed.
Definition best : 'I_4 := ord0.
Definition label_of (z : bool) : R := sg z.
Definition gram_of_pool (i : 'I_4) (z z' : bool) : R := if i == best then ind (z == z') else 1.
Lemma label_of_sq z : label_of z * label_of z = 1. Proof. exact: sg_sq. Qed.
Lemma dot_bool (K : bool -> bool -> R) (u v : bool -> R) :
  dot (T := bool_finType) K u v = u true * v true * K true true + u true * v false * K true false
    + (u false * v true * K false true + u false * v false * K false false).
Proof. by rewrite /dot !big_bool. Qed.
Lemma pool_psd i : psd (T := bool_finType) (gram_of_pool i).
Proof.
split=> [z z'|u]; first by rewrite /gram_of_pool (eq_sym z).
rewrite dot_bool /gram_of_pool; case: (i == best); rewrite /ind /=.
- by have := Rle_0_sqr (u true); have := Rle_0_sqr (u false); rewrite /Rsqr; lra.
- by have := Rle_0_sqr (u true + u false); rewrite /Rsqr; lra.
Qed.
Lemma pool_diag i z : gram_of_pool i z z <= 1 * 1.
Proof. by rewrite /gram_of_pool eqxx; case: (i == best) => /=; lra. Qed.
Definition coin : fdist bool_finType := sgn.
Definition pool (i : 'I_4) : uniform_allocation.arm 1 := Arm coin (pool_psd i) label_of_sq (pool_diag i).
Lemma informed_value (w : bool -> R) z : dot (gram_of_pool best) w (feat z) = w z.
Proof. by rewrite dot_bool /gram_of_pool eqxx /feat /ind; case: z => /=; ring. Qed.
Lemma constant_value i (w : bool -> R) z : i != best -> dot (gram_of_pool i) w (feat z) = w true + w false.
Proof. by move=> ne; rewrite dot_bool /gram_of_pool (negbTE ne) /feat /ind; case: z => /=; ring. Qed.

Section Pool.
Variable Lam : R.
Hypothesis HL : 1 <= Lam <= 5.
Lemma Lam_pos : 0 < Lam. Proof. lra. Qed.
Notation V i s := (Varm theta Lam (a := pool i) s).
Notation risk i := (Rarm theta Lam (pool i)).
Notation surr i := (@uniform_allocation.surr theta Lam 1 (pool i)).

(** A model of arm 0: h = a y, g = b. *)
Lemma informed_in a : 2 * (a * a) <= Lam * Lam -> nrm (gram_of_pool best) (fun z : bool => a * label_of z) <= Lam.
Proof.
move=> H; rewrite /nrm dot_bool -[X in _ <= X]sqrt_square; last lra.
by apply: sqrt_le_1_alt; rewrite /gram_of_pool eqxx /label_of /ind /=; lra.
Qed.
Lemma informed_in_g b : 2 * (b * b) <= Lam * Lam -> nrm (gram_of_pool best) (fun _ : bool => b) <= Lam.
Proof.
move=> H; rewrite /nrm dot_bool -[X in _ <= X]sqrt_square; last lra.
by apply: sqrt_le_1_alt; rewrite /gram_of_pool eqxx /ind /=; lra.
Qed.
Definition informed_model a b (Ha : 2 * (a * a) <= Lam * Lam) (Hb : 2 * (b * b) <= Lam * Lam) : ball (gram_of (pool best)) Lam :=
  exist _ (fun z => a * label_of z, fun _ => b) (conj (informed_in Ha) (informed_in_g Hb)).
Lemma informed_loss a b Ha Hb z : surr best (@informed_model a b Ha Hb) z = loss theta a b.
Proof.
rewrite /uniform_allocation.surr /arm.L /h /g /= !informed_value; congr (loss _ _ _).
by rewrite -Rmult_assoc (Rmult_comm _ a) Rmult_assoc label_of_sq Rmult_1_r.
Qed.
Lemma informed_score a b n (s : {ffun 'I_n -> bool}) : (0 < n)%N -> 2 * (a * a) <= Lam * Lam -> 2 * (b * b) <= Lam * Lam ->
  V best s <= loss theta a b.
Proof.
move=> n0 Ha Hb; have Hn := INR_pos n0.
apply: Rle_trans (inf_le (zero Lam_pos (pool best)) (informed_model Ha Hb) (bnd_emp (surr_bnd Lam Htheta one_pos (a := pool best)) s)) _.
rewrite /emp (eq_bigr (fun _ => loss theta a b)) => [|j _]; last exact: informed_loss.
by rewrite rsum_const card_ord; apply: Req_le; field; lra.
Qed.
Lemma informed_risk a b : 2 * (a * a) <= Lam * Lam -> 2 * (b * b) <= Lam * Lam -> risk best <= loss theta a b.
Proof.
move=> Ha Hb; apply: Rle_trans (least_risk Htheta Lam_pos one_pos (informed_model Ha Hb)) _.
rewrite -[X in _ <= X](ex_const coin); apply: Req_le; apply: ex_ext => z; exact: informed_loss.
Qed.
Lemma loss_half : loss theta (7 / 10) (- (1 / 2)) <= 1 / 2.
Proof. by rewrite /loss /theta; apply: Rmax_lub; [apply: Rmax_lub|]; lra. Qed.
Lemma loss_none : loss theta 3 1 <= 0.
Proof. by rewrite /loss /theta; apply: Rmax_lub; [apply: Rmax_lub|]; lra. Qed.
Lemma best_score n (s : {ffun 'I_n -> bool}) : (0 < n)%N -> V best s <= 1 / 2.
Proof. by move=> n0; apply: Rle_trans loss_half; apply: informed_score => //; nra. Qed.
Lemma best_risk : risk best <= 1 / 2.
Proof. by apply: Rle_trans loss_half; apply: informed_risk; nra. Qed.

(** A constant feature: both labels together lose at least 5/4. *)
Lemma constant_loss h g : 5 / 4 <= loss theta (1 * h) g + loss theta (-1 * h) g.
Proof.
have := @mass_loss_low theta 1 1 h g Htheta ltac:(lra) ltac:(lra); rewrite /mass_loss /least /theta.
by rewrite (Rmin_left 1 1) ?Rmin_right; lra.
Qed.
Lemma constant_model i (f : ball (gram_of (pool i)) Lam) : i != best -> exists H G, forall z, h f z = H /\ g f z = G.
Proof.
move=> ne; exists ((sval f).1 true + (sval f).1 false), ((sval f).2 true + (sval f).2 false) => z.
by rewrite /h /g !(constant_value _ z ne).
Qed.
Lemma constant_risk i : i != best -> 5 / 8 <= risk i.
Proof.
move=> ne; apply: (inf_ge (zero Lam_pos (pool i))) => f; have [H [G E]] := constant_model f ne.
rewrite [ex _ _]ex_sgn /uniform_allocation.surr /arm.L; have [-> ->] := E true; have [-> ->] := E false.
by have := constant_loss H G; rewrite /= /label_of /sg; lra.
Qed.
(** A sample with both labels k times. *)
Definition mixed k : {ffun 'I_(k + k) -> bool} := [ffun j : 'I_(k + k) => (j < k)%N].
Lemma constant_score i k : (0 < k)%N -> i != best -> 5 / 8 <= V i (mixed k).
Proof.
move=> k0 ne; have Hk := INR_pos k0.
apply: (inf_ge (zero Lam_pos (pool i))) => f; have [H [G E]] := constant_model f ne.
rewrite /emp big_split_ord /=.
rewrite (eq_bigr (fun _ => loss theta (1 * H) G)) => [|j _]; last first.
  by rewrite ffunE /= ltn_ord /uniform_allocation.surr /arm.L; have [-> ->] := E true.
rewrite [X in _ + X](eq_bigr (fun _ => loss theta (-1 * H) G)) => [|j _]; last first.
  by rewrite ffunE /= ltnNge leq_addr /uniform_allocation.surr /arm.L; have [-> ->] := E false.
rewrite !rsum_const card_ord plus_INR -Rmult_plus_distr_l.
apply: Rle_trans (_ : / (INR k + INR k) * (INR k * (5 / 4)) <= _); first by apply: Req_le; field; lra.
apply: Rmult_le_compat_l; first by apply: Rlt_le; apply: Rinv_0_lt_compat; lra.
by apply: Rmult_le_compat_l; [lra | exact: constant_loss].
Qed.

(** A sample with one label: a constant feature is as good as the label. *)
Lemma one_label n (s : {ffun 'I_n -> bool}) z0 i : (0 < n)%N -> (forall j, s j = z0) -> V i s <= V best s.
Proof.
move=> n0 Hs; case: (eqVneq i best) => [->|ne]; first lra.
apply: (inf_ge (zero Lam_pos (pool best))) => f.
pose w (u : bool -> R) : bool -> R := fun z => u z0 * feat z0 z.
have Hw (u : bool -> R) : nrm (gram_of_pool best) u <= Lam -> nrm (gram_of_pool i) (w u) <= Lam.
  apply: Rle_trans; rewrite /nrm !dot_bool; apply: sqrt_le_1_alt.
  rewrite /gram_of_pool eqxx (negbTE ne) /w /feat /ind.
  by have := Rle_0_sqr (u true); have := Rle_0_sqr (u false); rewrite /Rsqr; case: z0 {Hs w} => /=; lra.
have in_i : nrm (gram_of_pool i) (w (sval f).1) <= Lam /\ nrm (gram_of_pool i) (w (sval f).2) <= Lam.
  by case: f => [[w1 w2] [N1 N2]]; split; apply: Hw.
have Ew u : w u true + w u false = u z0 by rewrite /w /feat /ind; case: z0 {Hs w Hw in_i} => /=; ring.
apply: Rle_trans (inf_le (zero Lam_pos (pool i)) (exist _ (w (sval f).1, w (sval f).2) in_i) (bnd_emp (surr_bnd Lam Htheta one_pos (a := pool i)) s)) _.
apply: Req_le; congr (_ * _); apply: eq_bigr => j _; rewrite /uniform_allocation.surr /arm.L /h /g /= !(constant_value _ _ ne) !informed_value !Ew.
by rewrite Hs.
Qed.

Lemma pool_gap i : i != best -> / 8 <= risk i - risk best.
Proof. by move=> ne; have := constant_risk ne; have := best_risk; lra. Qed.
Lemma pool_minimal i : risk best <= risk i.
Proof. by case: (eqVneq i best) => [->|/pool_gap]; lra. Qed.
Notation S := (median_elimination_arms.S theta Lam pool best).
Lemma in_S i : (i \in S) = (i == best).
Proof.
rewrite inE; case: (eqVneq i best) => [->|ne]; first by apply/gebP; lra.
by apply/negbTE/negP => /gebP; have := pool_gap ne; lra.
Qed.
Lemma pool_S : #|S| = 1%N.
Proof. by apply/eqP/cards1P; exists best; apply/setP => i; rewrite in_S in_set1. Qed.
Lemma pool_gaps i : i \notin S -> / 8 <= risk i - risk best.
Proof. by rewrite in_S; exact: pool_gap. Qed.

(** * At least a million rows *)
Section Million.
Variable n : nat.
Hypothesis Hn : 1000 <= sqrt (INR n).
Lemma rows_pos : (0 < n)%N.
Proof. by case: n Hn => //; rewrite /= sqrt_0; lra. Qed.
Lemma million : 1000 * 1000 <= INR n.
Proof. by rewrite -(sqrt_sqrt (INR n) (pos_INR n)); apply: Rmult_le_compat; lra. Qed.
Lemma M_6 : 0 < arm.M theta Lam 1 <= 6.
Proof.
split; first exact: (uniform_allocation.M_pos Htheta Lam_pos one_pos).
rewrite /arm.M /arm.r; have : 0 <= loss_low theta (1 * Lam) by exact: Rmax_r.
suff : loss_high theta (1 * Lam) <= 6 by lra.
by rewrite /loss_high /theta; apply: Rmax_lub; lra.
Qed.
Lemma root_inverse : 0 < / sqrt (INR n) <= / 1000.
Proof. by split; [apply: Rinv_0_lt_compat; lra | apply: Rinv_le_contravar; lra]. Qed.
Lemma pool_launched : launched theta Lam 1 (/ 8) n.
Proof.
have := million; rewrite /launched /paper_c /arm.r /theta.
rewrite (_ : 16 * _ * _ / _ = 2304 * (Lam * Lam)); last by field.
nra.
Qed.
Lemma pool_q : q4 theta Lam 1 (/ 8) n <= / 100.
Proof.
have [M0 M6] := M_6; have [i0 i1] := root_inverse; rewrite /q4 /paper_c /arm.r.
set x := / 8 / 2 - _.
have x1 : 475 / 10000 <= x.
  have small : Lam * / sqrt (INR n) <= 5 * / 1000 by apply: Rmult_le_compat; lra.
  by rewrite (_ : x = / 16 - 3 * (Lam * / sqrt (INR n))); [lra | rewrite /x /theta; field; lra].
suff : 99 <= 2 * INR n * (x * x) / (arm.M theta Lam 1 * arm.M theta Lam 1).
  set e := _ / _ => e99; rewrite exp_Ropp; apply: Rinv_le_contravar; first lra.
  by have := exp_ineq1_le e; lra.
have xx : 475 / 10000 * (475 / 10000) <= x * x by apply: Rmult_le_compat; lra.
have MM : arm.M theta Lam 1 * arm.M theta Lam 1 <= 36 by nra.
have M1 : 0 < arm.M theta Lam 1 * arm.M theta Lam 1 by nra.
apply: (Rmult_le_reg_r (arm.M theta Lam 1 * arm.M theta Lam 1)) => //.
rewrite /Rdiv Rmult_assoc Rinv_l; last lra.
have := million => Hm; apply: Rle_trans (_ : 99 * 36 <= _); first by apply: Rmult_le_compat_l; lra.
apply: Rle_trans (_ : 2 * (1000 * 1000) * (475 / 10000 * (475 / 10000)) <= _); first lra.
by rewrite Rmult_1_r; apply: Rmult_le_compat; lra.
Qed.
End Million.
End Pool.

(** Positive probability. *)
Lemma ex_pos (T : finType) (d : fdist T) (f : T -> R) x : (forall z, 0 <= f z) -> 0 < d x -> 0 < f x -> 0 < ex d f.
Proof.
move=> f0 dx fx; apply: (Rlt_le_trans _ (d x * f x)); first exact: Rmult_lt_0_compat.
by apply: (rsum_ge1 (F := fun z => d z * f z)) => z; apply: Rmult_le_pos => //; exact: pmf_ge0.
Qed.
Lemma pr_pos (T : finType) (d : fdist T) (A : pred T) x : 0 < d x -> A x -> 0 < pr d A.
Proof. by move=> dx Ax; apply: (ex_pos (x := x)) => // [z|]; rewrite /ind ?Ax; [case: (A z)|]; lra. Qed.
Lemma draws_pos (T : finType) (d : fdist T) n (s : {ffun 'I_n -> T}) : (forall x, 0 < d x) -> 0 < draws d n s.
Proof. by move=> H; rewrite /=; elim/big_rec: _ => [|i x _ x0]; [lra | apply: Rmult_lt_0_compat]. Qed.
Lemma unif_pos (T : finType) (x0 x : T) : 0 < unif x0 x.
Proof. by rewrite /=; apply: Rinv_0_lt_compat; exact: card_pos. Qed.
