/* The bounds on the failure probability, by the formulas of the package `theory`.

A browser test holds every function here against its counterpart in Python over a grid. A point is
{B, K, theta, r, gap, gaps, bestCount, rows, pairing, kernel, population} with r = kappa * Lambda: `gap` is one number for
all other arms, `gaps` (or null) the K - 1 gaps of the other arms. Bounds are natural logarithms; NaN where the
assumptions of a statement do not hold. */
"use strict";
globalThis.exml = globalThis.exml || {};
exml.bounds = (() => {
  const EPS = 2 ** -52;
  // ---- constants, written by tools/generate_bounds_js.py ----
  const CEILING_TOLERANCE = 1e-12;
  const CORRECTED_PREFACTOR = 2;
  const LARGEST_BUDGET = 4503599627370496;
  const LAUNCH_LEMMAS = 16;
  const PAPER_GEOMETRIC = 8;
  const PAPER_PREFACTOR = 4;
  const PAPER_RATE = 2 / 9;
  // ---- end of constants ----

  // ---- the loss (theory/formulas.py) ----
  const slope = (theta) => theta / (1 - 2 * theta);
  const rademacher = (theta) => (1 - theta) / (1 - 2 * theta);

  function dual(theta) {
    const steep = Math.max(slope(theta) ** 2, 0.5);
    return (2 * steep) / Math.sqrt(4 * steep - 1);
  }

  const rise = (theta, r) => Math.max(r, theta - 1 + slope(theta) * r);

  function fall(theta, r) {
    const s = clip((1 - 2 * theta) * (r - 2 * (1 - theta)), -r, r);
    return Math.min((r - s) / 2, 1 - theta + slope(theta) * s, 1);
  }

  const spread = (theta, r) => Math.max(rise(theta, r) + fall(theta, r), Number.MIN_VALUE);

  function replacement(theta, r, kernel) {
    const full = spread(theta, r);
    return kernel === "nonnegative" ? Math.min(full, Math.SQRT2 * Math.max(1, slope(theta)) * r) : full;
  }

  // ---- rows per arm (theory/formulas.py) ----
  const uniformPulls = (B, K) => Math.floor(B / K);

  const FIXED = 400n; // bits after the point while squaring; every squaring costs one of them
  const DIGITS = 160n; // bits of the logarithm
  const logs = new Map();

  /** log2 K times 2^160, rounded down: one binary digit per squaring. */
  function fixedLog2(K) {
    if (!logs.has(K)) {
      const whole = BigInt(Math.floor(Math.log2(K)));
      let x = (BigInt(K) << FIXED) >> whole;
      let digits = whole;
      for (let i = 0n; i < DIGITS; i += 1n) {
        x = (x * x) >> FIXED;
        const bit = x >> (FIXED + 1n) > 0n ? 1n : 0n;
        x >>= bit;
        digits = (digits << 1n) | bit;
      }
      logs.set(K, digits);
    }
    return logs.get(K);
  }

  /** floor(B / (K log2 K)), exactly: next to a convergent of the logarithm floating point cannot tell. */
  function firstRoundPulls(B, K) {
    if ((K & (K - 1)) === 0) return Math.floor(B / (K * ceilLog2(K)));
    return Number((BigInt(B) << DIGITS) / (BigInt(K) * fixedLog2(K)));
  }

  const ceilLog2 = (K) => 32 - Math.clz32(K - 1);

  /** Rounds of median elimination: active arms, arms kept, new rows and accumulated rows per arm. */
  function halvingSchedule(B, K) {
    const T = ceilLog2(K);
    const rounds = [];
    let active = K;
    let accumulated = 0;
    for (let t = 0; t < T; t += 1) {
      const kept = Math.floor((active + 1) / 2);
      const pulls = Math.floor(B / (T * active));
      accumulated += pulls;
      rounds.push({ active, kept, pulls, accumulated });
      active = kept;
    }
    return rounds;
  }

  // ---- sums of logarithms ----
  function logSum(values) {
    const top = Math.max(...values);
    if (top === -Infinity) return -Infinity;
    return top + Math.log(values.reduce((sum, value) => sum + Math.exp(value - top), 0));
  }

  const clip = (x, low, high) => Math.min(Math.max(x, low), high);

  // ---- what the statements share (theory/_bound.py) ----
  const positiveGaps = (point) => (point.gaps || [point.gap]).filter((gap) => gap > 0);
  const smallestGap = (point) => (point.gaps ? Math.min(...positiveGaps(point)) : point.gap);
  const largestGap = (point) => (point.gaps ? Math.max(...point.gaps) : point.gap);
  const bestArms = (point) => (point.gaps ? 1 + point.gaps.filter((gap) => gap === 0).length : point.bestCount || 1);

  /** Why no population or no statement has these parameters, or the empty string.

  The largest gap decides for every version, as in theory/bound_problem.py: no bound is about a pool that cannot exist. */
  function broken(point) {
    if (!(point.theta > 0)) return "theta > 0";
    if (!(point.theta < 0.5)) return "theta < 1/2";
    const gap = smallestGap(point);
    if (!(gap > 0) || !Number.isFinite(gap)) return "gap > 0";
    if (!(fall(point.theta, point.r) * (1 + CEILING_TOLERANCE) - largestGap(point) >= 0)) return "gap <= Delta_max";
    return "";
  }

  const launchRows = (point, factor) => factor * ((rademacher(point.theta) * point.r) / smallestGap(point)) ** 2;

  // ---- as printed (theory/paper.py) ----
  function paperLogQ(n, point) {
    const margin = smallestGap(point) / 2 - (2 * rademacher(point.theta) * point.r) / Math.sqrt(n);
    return -PAPER_RATE * n * margin ** 2;
  }

  function paperUniform(point) {
    const n = uniformPulls(point.B, point.K);
    if (broken(point) || !(n > launchRows(point, LAUNCH_LEMMAS))) return NaN;
    return Math.log(PAPER_PREFACTOR * (point.K - 1)) + paperLogQ(n, point);
  }

  function paperMedian(point) {
    const n = firstRoundPulls(point.B, point.K);
    if (broken(point) || !(n > launchRows(point, LAUNCH_LEMMAS))) return NaN;
    const logQ = paperLogQ(n, point);
    return Math.log(PAPER_GEOMETRIC) + logQ - Math.log(-Math.expm1(logQ));
  }

  // ---- corrected (theory/corrected.py) ----
  function correctedTail(n, point) {
    const rows = Math.max(n, 1);
    const margin = smallestGap(point) / 2 - (2 * rademacher(point.theta) * point.r) / Math.sqrt(rows);
    return -2 * rows * (Math.max(margin, 0) / spread(point.theta, point.r)) ** 2;
  }

  function correctedUniform(point) {
    const n = uniformPulls(point.B, point.K);
    if (broken(point) || !(n > launchRows(point, LAUNCH_LEMMAS))) return NaN;
    return Math.log(CORRECTED_PREFACTOR * (point.K - bestArms(point))) + correctedTail(n, point);
  }

  function correctedMedian(point) {
    const rounds = halvingSchedule(point.B, point.K);
    if (broken(point) || !(rounds[0].pulls > launchRows(point, LAUNCH_LEMMAS))) return NaN;
    const fresh = point.rows === "fresh";
    const best = bestArms(point);
    const terms = rounds.map(({ active, kept, pulls, accumulated }) => {
      const rivals = fresh ? Math.min(active - 1, point.K - best) : point.K - best;
      if (rivals < kept) return -Infinity;
      const weight = (CORRECTED_PREFACTOR * rivals * (fresh ? 1 : best)) / kept;
      return Math.log(weight) + correctedTail(fresh ? pulls : accumulated, point);
    });
    return logSum(terms);
  }

  // ---- tighter: tails of the minimised risk (theory/_tails.py) ----
  function permutationGain(rows, m) {
    const rest = m - rows;
    return Math.max(((m - 0.5) / rest) * (1 - 1 / (2 * Math.max(rows, rest))), 1);
  }

  /** What n rows leave to chance: the optimism of a score, and how stiff its distribution is. */
  function tails(n, point) {
    const rows = Math.max(n, 1);
    let stiffness = rows / replacement(point.theta, point.r, point.kernel) ** 2;
    let variance = 1 / rows;
    if (point.population) {
      const m = Math.max(point.population, rows);
      stiffness *= permutationGain(rows, m);
      variance = (variance * (m - rows)) / Math.max(m - 1, 1);
    }
    return {
      rows,
      stiffness,
      optimism: dual(point.theta) * point.r * Math.sqrt(variance),
      spread: spread(point.theta, point.r),
      fall: fall(point.theta, point.r),
      pairing: point.pairing || "same",
    };
  }

  const scaled = (stiffness, shift) => (shift > 0 ? stiffness * shift * shift : 0);
  const margins = (tail, gaps) => gaps.map((gap) => (gap > 0 ? Math.max(gap - tail.optimism, 0) : Infinity));

  function logBeatenByAny(tail, rest) {
    const rate = tail.pairing === "independent" ? 1 : 0.5;
    const prefactor = tail.pairing === "arbitrary" ? Math.log(2) : 0;
    return logSum(rest.map((margin) => Math.min(prefactor - rate * scaled(tail.stiffness, margin), 0)));
  }

  /** min over p <= ceiling of kl(p + epsilon || p), its rounding taken off. */
  function leastEntropy(epsilon, ceiling) {
    if (!(ceiling <= (1 - epsilon) / 2) || !(epsilon > 0)) return 0;
    if (!(ceiling > 0)) return Infinity;
    const q = ceiling + epsilon;
    const up = q * Math.log1p(epsilon / ceiling);
    const down = (1 - q) * Math.log1p(-epsilon / (1 - ceiling));
    return Math.max(up + down - 4 * EPS * (up - down), 0);
  }

  function logBestHigh(tail, shift, largest) {
    const epsilon = clip(shift / tail.spread, 0, 1);
    const entropy = leastEntropy(epsilon, clip((tail.fall - largest) / tail.spread, 0, 1));
    return -Math.max(2 * scaled(tail.stiffness, shift), tail.rows * entropy);
  }

  /** The best arm is high or its rivals are low, the smallest over a family of splits. */
  function logCrowd(tail, rest, logWeight, largest, best) {
    const smallest = Math.min(...rest);
    if (!Number.isFinite(smallest)) return -Infinity;
    const logBest = Math.log(best);
    let least = Infinity;
    for (let rivals = 1; rivals <= rest.length; rivals += 1) {
      const logCount = Math.max(logWeight + Math.log(rivals) - logBest, 0);
      const raw = smallest / 2 - logCount / (4 * tail.stiffness * smallest);
      const shift = smallest > 0 ? clip(raw, 0, smallest) : 0;
      const low = logWeight + logSum(rest.map((x) => -2 * scaled(tail.stiffness, Math.max(x - shift, 0))));
      least = Math.min(least, logSum([logBest + logBestHigh(tail, shift, largest), low]));
    }
    return least;
  }

  // ---- tighter: the theorems (theory/tighter.py) ----
  function launched(n, point) {
    if (broken(point) || !(n > 0)) return false;
    if (point.population && n > point.population) return false;
    return Boolean(point.gaps) || point.gap - tails(n, point).optimism > 0;
  }

  function tighterUniform(point) {
    const n = uniformPulls(point.B, point.K);
    if (!launched(n, point)) return NaN;
    const tail = tails(n, point);
    const gaps = point.gaps || [point.gap];
    const rest = margins(tail, gaps);
    const logCount = point.gaps ? 0 : Math.log(point.K - bestArms(point));
    return Math.min(logCount + logBeatenByAny(tail, rest), logCrowd(tail, rest, logCount, Math.max(...gaps), 1));
  }

  function tighterMedian(point) {
    const rounds = halvingSchedule(point.B, point.K);
    if (!launched(rounds[0].pulls, point)) return NaN;
    const fresh = point.rows === "fresh";
    const held = rounds.map((round) => (fresh ? round.pulls : round.accumulated));
    if (point.population && Math.max(...held) > point.population) return NaN;
    const term = point.gaps ? perArmRound : oneGapRound;
    return logSum(rounds.map((round, t) => Math.min(term(tails(held[t], point), round, point, fresh), 0)));
  }

  function oneGapRound(tail, { active, kept }, point, fresh) {
    const best = bestArms(point);
    const rivals = fresh ? Math.min(point.K - best, active - 1) : point.K - best;
    if (rivals < kept) return -Infinity;
    const leaders = fresh ? 1 : best;
    const logWeight = Math.log(Math.max(rivals, 1) / kept);
    const rest = margins(tail, [point.gap]);
    const markov = Math.log(leaders) + logWeight + logBeatenByAny(tail, rest);
    return Math.min(markov, logCrowd(tail, rest, logWeight, point.gap, leaders));
  }

  function perArmRound(tail, { active, kept }, point, fresh) {
    const ordered = margins(tail, point.gaps.slice()).sort((a, b) => a - b);
    const rest = fresh ? ordered.slice(0, active - 1) : ordered;
    if (rest.length < kept) return -Infinity;
    const leaders = fresh ? 1 : bestArms(point);
    const largest = Math.max(...point.gaps);
    let least = Infinity;
    for (let dropped = 0; dropped < kept; dropped += 1) {
      const others = rest.slice(dropped);
      const logWeight = -Math.log(kept - dropped);
      least = Math.min(
        least,
        Math.log(leaders) + logWeight + logBeatenByAny(tail, others),
        logCrowd(tail, others, logWeight, largest, leaders),
      );
    }
    return least;
  }

  const FUNCTIONS = {
    paper: { uniform: paperUniform, median: paperMedian },
    corrected: { uniform: correctedUniform, median: correctedMedian },
    tighter: { uniform: tighterUniform, median: tighterMedian },
  };

  /** Natural logarithm of a bound; version is "paper", "corrected" or "tighter", strategy "uniform" or "median". */
  const logDeltaFail = (version, strategy, point) => FUNCTIONS[version][strategy](point);

  /** Smallest whole budget with a property that holds from some budget on, or NaN. */
  function smallest(works, limit) {
    let high = 1;
    while (!works(high)) {
      if (high >= limit) return NaN;
      high = Math.min(2 * high, limit);
    }
    let low = Math.floor(high / 2);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (works(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  /** Draws without replacement end with the population: the last budget that it can pay for. */
  function limitOf(version, strategy, point) {
    if (version !== "tighter" || !point.population) return LARGEST_BUDGET;
    const rows = (B) => {
      if (strategy === "uniform") return uniformPulls(B, point.K);
      const rounds = halvingSchedule(B, point.K);
      return Math.max(...rounds.map((round) => (point.rows === "fresh" ? round.pulls : round.accumulated)));
    };
    return smallest((B) => rows(B) > point.population, LARGEST_BUDGET) - 1;
  }

  /** Smallest budget whose bound is at most delta (theory.budgets.required_budget), or NaN. */
  const requiredBudget = (version, strategy, point, delta) =>
    smallest((B) => logDeltaFail(version, strategy, { ...point, B }) <= Math.log(delta), limitOf(version, strategy, point));

  /** Smallest budget at which a statement says anything (theory.budgets.launch_budget), or NaN. */
  const launchBudget = (version, strategy, point) =>
    smallest((B) => !Number.isNaN(logDeltaFail(version, strategy, { ...point, B })), limitOf(version, strategy, point));

  return { broken, largestGap, fall, spread, firstRoundPulls, logDeltaFail, requiredBudget, launchBudget };
})();
