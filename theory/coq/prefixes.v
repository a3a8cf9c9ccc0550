(** The first k of n draws are k draws, so the hypothesis on accumulated rows of Lemma 2 (i) can be met. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset.
From Exml Require Import finite_probability.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Definition prefix (T : finType) k n (kn : (k <= n)%N) (s : {ffun 'I_n -> T}) : {ffun 'I_k -> T} := [ffun i => s (widen_ord kn i)].
Lemma prefixE (T : finType) k n (kn : (k <= n)%N) (s : {ffun 'I_n -> T}) i : prefix kn s i = s (widen_ord kn i).
Proof. by rewrite ffunE. Qed.
Theorem prefix_distribution (T : finType) (d : fdist T) k n (kn : (k <= n)%N) f :
  ex (draws d n) (fun s => f (prefix kn s)) = ex (draws d k) f.
Proof.
elim: k n kn f => [|k IH] [|n] kn f //.
- by rewrite (ex_ext f) // => s; congr f; apply/ffunP => -[].
- have [x0 _|none] := pickP (fun _ : T => true); last first.
    have : \rsum_x d x = 0 by apply: big1 => x; have := none x.
    by rewrite pmf_sum => /R1_neq_R0.
  rewrite (ex_draws0 d f [ffun=> x0]) -[RHS](ex_const (draws d n.+1)).
  by apply: ex_ext => s; congr f; apply/ffunP => -[].
- rewrite !ex_drawsS; apply: ex_ext => x.
  have kn' : (k <= n)%N by [].
  rewrite -(IH n kn' (fun s => f (fcons x s))); apply: ex_ext => s; congr f.
  apply/ffunP => i; rewrite prefixE; case: (unliftP ord0 i) => [j ->|->].
    rewrite fconsS prefixE -(fconsS x s (widen_ord kn' j)); congr (fun_of_fin _ _); exact: val_inj.
  by rewrite fcons0 -[RHS](fcons0 x s); congr (fun_of_fin _ _); exact: val_inj.
Qed.
