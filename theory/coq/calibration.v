(** The conditional risk at one point: Lemma D (the loss in the affine regime) and Lemma F (calibration) of
    docs/theorems.md.

    The loss is that of arm.v. The conditional risk at P(y = 1) = eta is eta loss(h, g) + (1 - eta) loss(-h, g). The
    0-1 risk charges theta for g <= 0 and an error otherwise; sign(0) = +1. The theorems are stated for eta <= 1/2. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Rcomplements Rbar Lub.
From Exml Require Import arm.
Open Scope R_scope.

Definition risk (theta eta h g : R) : R := eta * loss theta h g + (1 - eta) * loss theta (- h) g.
Definition bayes (theta eta : R) : R := Rmin eta theta.
Definition zero_one (theta eta h g : R) : R :=
  if Rle_dec g 0 then theta else if Rle_dec 0 h then 1 - eta else eta.

Lemma first_piece theta t s : 1 + (s - t) / 2 <= loss theta t s.
Proof. unfold loss. eapply Rle_trans; [ apply Rmax_l | apply Rmax_l ]. Qed.

Lemma second_piece theta t s : theta * (1 - s / (1 - 2 * theta)) <= loss theta t s.
Proof. unfold loss. eapply Rle_trans; [ apply Rmax_r | apply Rmax_l ]. Qed.

Lemma not_negative theta t s : 0 <= loss theta t s.
Proof. apply Rmax_r. Qed.

(** Lemma D: on the ball r <= 1 - 2 theta the first piece is the loss. *)
Theorem loss_affine theta r t s :
  0 < theta < / 2 -> r <= 1 - 2 * theta -> Rabs t <= r -> Rabs s <= r -> loss theta t s = 1 + (s - t) / 2.
Proof.
  intros Htheta Hr Ht Hs.
  assert (Hw : 0 < 1 - 2 * theta) by lra.
  apply Rabs_le_between in Ht. apply Rabs_le_between in Hs.
  set (k := s / (1 - 2 * theta)).
  assert (Hk : s = (1 - 2 * theta) * k) by (unfold k; field; lra).
  assert (Hlow : -1 <= k) by nra.
  unfold loss. fold k.
  rewrite (Rmax_left (1 + (s - t) / 2)) by nra.
  apply Rmax_left. lra.
Qed.

(** Lemma F, minimum, for eta = share * theta <= theta. *)
Lemma minimum_rare theta share h g :
  0 < theta < / 2 -> 0 <= share <= 1 ->
  (3 - 2 * theta) * (share * theta) <= risk theta (share * theta) h g.
Proof.
  intros Htheta Hshare.
  assert (P1 := first_piece theta h g). assert (M1 := first_piece theta (- h) g).
  assert (M2 := second_piece theta (- h) g). assert (M0 := not_negative theta (- h) g).
  set (k := g / (1 - 2 * theta)) in *.
  assert (Hk : g = (1 - 2 * theta) * k) by (unfold k; field; lra).
  unfold risk. generalize dependent (loss theta h g). generalize dependent (loss theta (- h) g).
  intros minus M1 M2 M0 plus P1.
  assert (A : 0 <= share * theta * (plus - (1 + (g - h) / 2))) by (apply Rmult_le_pos; nra).
  assert (B : 0 <= share * theta * (minus - (1 + (g - - h) / 2))) by (apply Rmult_le_pos; nra).
  assert (C : 0 <= share * (1 - 2 * theta) * (minus - theta * (1 - k))) by (apply Rmult_le_pos; nra).
  assert (D : 0 <= (1 - share) * minus) by (apply Rmult_le_pos; lra).
  rewrite Hk in A, B. nra.
Qed.

(** The same for theta <= eta <= 1/2. *)
Lemma minimum_middle theta eta h g :
  0 < theta < / 2 -> theta <= eta <= / 2 -> (3 - 2 * theta) * theta <= risk theta eta h g.
Proof.
  intros Htheta Heta.
  assert (P1 := first_piece theta h g). assert (M1 := first_piece theta (- h) g).
  assert (P2 := second_piece theta h g). assert (M2 := second_piece theta (- h) g).
  set (k := g / (1 - 2 * theta)) in *.
  assert (Hk : g = (1 - 2 * theta) * k) by (unfold k; field; lra).
  unfold risk. generalize dependent (loss theta h g). generalize dependent (loss theta (- h) g).
  intros minus M1 M2 plus P1 P2.
  assert (A : 0 <= theta * (plus - (1 + (g - h) / 2))) by (apply Rmult_le_pos; lra).
  assert (B : 0 <= theta * (minus - (1 + (g - - h) / 2))) by (apply Rmult_le_pos; lra).
  assert (C : 0 <= (eta - theta) * (plus - theta * (1 - k))) by (apply Rmult_le_pos; lra).
  assert (D : 0 <= (1 - eta - theta) * (minus - theta * (1 - k))) by (apply Rmult_le_pos; lra).
  rewrite Hk in A, B. nra.
Qed.

Theorem minimum theta eta h g :
  0 < theta < / 2 -> 0 <= eta <= / 2 -> (3 - 2 * theta) * bayes theta eta <= risk theta eta h g.
Proof.
  intros Htheta Heta. unfold bayes. destruct (Rle_dec eta theta) as [Hle | Hgt].
  - rewrite Rmin_left by lra.
    assert (Hs : eta = eta / theta * theta) by (field; lra).
    assert (Hb : 0 <= eta / theta <= 1).
    { assert (0 < / theta) by (apply Rinv_0_lt_compat; lra). unfold Rdiv. split; [ nra | ]. assert (theta * / theta = 1) by (field; lra). nra. }
    rewrite Hs. apply minimum_rare; assumption.
  - rewrite Rmin_right by lra. apply minimum_middle; lra.
Qed.

(** Inequality (1): the first piece for y = 1, a mixture of the two for y = -1. *)
Lemma inequality_one theta eta h g :
  0 < theta < / 2 -> 0 <= eta <= / 2 ->
  2 * eta + (1 - 2 * eta) * theta + eta * g - (1 - 2 * eta) * theta * (g / (1 - 2 * theta)) <= risk theta eta h g.
Proof.
  intros Htheta Heta.
  assert (P1 := first_piece theta h g). assert (M1 := first_piece theta (- h) g).
  assert (M2 := second_piece theta (- h) g).
  set (k := g / (1 - 2 * theta)) in *.
  unfold risk. generalize dependent (loss theta h g). generalize dependent (loss theta (- h) g).
  intros minus M1 M2 plus P1.
  assert (A : 0 <= eta * (plus - (1 + (g - h) / 2))) by (apply Rmult_le_pos; lra).
  assert (B : 0 <= eta * (minus - (1 + (g - - h) / 2))) by (apply Rmult_le_pos; lra).
  assert (C : 0 <= (1 - 2 * eta) * (minus - theta * (1 - k))) by (apply Rmult_le_pos; lra).
  nra.
Qed.

(** The factor of g in (1) has the sign of eta - theta. *)
Lemma slope_sign theta eta g :
  0 < theta < / 2 ->
  eta * g - (1 - 2 * eta) * theta * (g / (1 - 2 * theta)) = (eta - theta) * (g / (1 - 2 * theta)).
Proof. intros Htheta. field. lra. Qed.

Lemma quotient_sign theta g : 0 < theta < / 2 -> 0 <= g -> 0 <= g / (1 - 2 * theta).
Proof. intros Htheta Hg. apply Rmult_le_pos; [ assumption | left; apply Rinv_0_lt_compat; lra ]. Qed.

(** Lemma F, calibration: the excess 0-1 risk is at most the excess surrogate risk over 1 - theta. *)
Theorem calibration theta eta h g :
  0 < theta < / 2 -> 0 <= eta <= / 2 ->
  zero_one theta eta h g - bayes theta eta
  <= (risk theta eta h g - (3 - 2 * theta) * bayes theta eta) / (1 - theta).
Proof.
  intros Htheta Heta.
  assert (Goal : (1 - theta) * (zero_one theta eta h g - bayes theta eta)
                 <= risk theta eta h g - (3 - 2 * theta) * bayes theta eta).
  { assert (Min := minimum theta eta h g Htheta Heta).
    assert (One := inequality_one theta eta h g Htheta Heta).
    assert (Sign := slope_sign theta eta g Htheta).
    unfold zero_one. destruct (Rle_dec g 0) as [Hg | Hg].
    - (* reject *)
      destruct (Rle_dec eta theta) as [Hle | Hgt].
      + unfold bayes in *. rewrite Rmin_left in * by lra.
        assert (Q := quotient_sign theta (- g) Htheta ltac:(lra)).
        assert (Hneg : - g / (1 - 2 * theta) = - (g / (1 - 2 * theta))) by (field; lra).
        rewrite Hneg in Q. set (k := g / (1 - 2 * theta)) in *.
        assert (0 <= (theta - eta) * (- k)) by (apply Rmult_le_pos; lra).
        assert (0 <= theta * (theta - eta)) by (apply Rmult_le_pos; lra).
        nra.
      + unfold bayes in *. rewrite Rmin_right in * by lra. lra.
    - destruct (Rle_dec 0 h) as [Hh | Hh].
      + (* wrong label *)
        assert (P1 := first_piece theta h g). assert (M1 := first_piece theta (- h) g).
        assert (R : 1 <= risk theta eta h g).
        { unfold risk. generalize dependent (loss theta h g). generalize dependent (loss theta (- h) g).
          intros minus M1 plus P1.
          assert (0 <= eta * (plus - (1 + (g - h) / 2))) by (apply Rmult_le_pos; lra).
          assert (0 <= (1 - eta) * (minus - (1 + (g - - h) / 2))) by (apply Rmult_le_pos; lra).
          assert (0 <= (1 - 2 * eta) * h) by (apply Rmult_le_pos; lra).
          nra. }
        unfold bayes in *. destruct (Rle_dec eta theta) as [Hle | Hgt].
        * rewrite Rmin_left in * by lra. nra.
        * rewrite Rmin_right in * by lra. nra.
      + (* right label *)
        unfold bayes in *. destruct (Rle_dec eta theta) as [Hle | Hgt].
        * rewrite Rmin_left in * by lra. lra.
        * rewrite Rmin_right in * by lra.
          assert (Q := quotient_sign theta g Htheta ltac:(lra)). set (k := g / (1 - 2 * theta)) in *.
          assert (0 <= (eta - theta) * k) by (apply Rmult_le_pos; lra).
          assert (0 <= (1 - theta) * (eta - theta)) by (apply Rmult_le_pos; lra).
          nra. }
  apply Rmult_le_reg_l with (1 - theta); [ lra | ].
  replace ((1 - theta) * ((risk theta eta h g - (3 - 2 * theta) * bayes theta eta) / (1 - theta)))
    with (risk theta eta h g - (3 - 2 * theta) * bayes theta eta) by (field; lra).
  exact Goal.
Qed.

(** The minimum is attained, so the infimum over all (h, g) is (3 - 2 theta) B. *)
Lemma attained_rare theta eta :
  0 < theta < / 2 -> risk theta eta (- (3 - 2 * theta)) (1 - 2 * theta) = (3 - 2 * theta) * eta.
Proof.
  intros Htheta. unfold risk, loss.
  replace ((1 - 2 * theta) / (1 - 2 * theta)) with 1 by (field; lra).
  rewrite !(Rmax_left _ (theta * (1 - 1))) by lra.
  rewrite (Rmax_left (1 + (1 - 2 * theta - - (3 - 2 * theta)) / 2)) by lra.
  rewrite (Rmax_left (1 + (1 - 2 * theta - - - (3 - 2 * theta)) / 2)) by lra.
  lra.
Qed.

Lemma attained_middle theta eta :
  0 < theta < / 2 -> risk theta eta 0 (- (2 * (1 - theta) * (1 - 2 * theta))) = (3 - 2 * theta) * theta.
Proof.
  intros Htheta. unfold risk, loss.
  replace (- (2 * (1 - theta) * (1 - 2 * theta)) / (1 - 2 * theta)) with (- (2 * (1 - theta))) by (field; lra).
  replace (- 0) with 0 by lra.
  replace (1 + (- (2 * (1 - theta) * (1 - 2 * theta)) - 0) / 2) with (theta * (3 - 2 * theta)) by field.
  replace (theta * (1 - - (2 * (1 - theta)))) with (theta * (3 - 2 * theta)) by ring.
  rewrite (Rmax_left (theta * (3 - 2 * theta)) (theta * (3 - 2 * theta))) by lra.
  rewrite Rmax_left by nra. ring.
Qed.

Theorem infimum theta eta :
  0 < theta < / 2 -> 0 <= eta <= / 2 ->
  Glb_Rbar (fun value => exists h g, value = risk theta eta h g) = Finite ((3 - 2 * theta) * bayes theta eta).
Proof.
  intros Htheta Heta. apply is_glb_Rbar_unique. split.
  - intros value [h [g Hv]]. subst value. simpl. apply minimum; assumption.
  - intros bound Hbound. unfold bayes. destruct (Rle_dec eta theta) as [Hle | Hgt].
    + rewrite Rmin_left by lra. rewrite <- (attained_rare theta eta Htheta).
      apply Hbound. eexists. eexists. reflexivity.
    + rewrite Rmin_right by lra. rewrite <- (attained_middle theta eta Htheta).
      apply Hbound. eexists. eexists. reflexivity.
Qed.
