import type { Grain } from '../scorers/scorer.entity';

/** Seconds without a further span after which a trace or session is taken to be done, where its rule does not say. */
const QUIET_DEFAULTS: Readonly<Record<Grain, number>> = { trace: 60, session: 900 };

export const QUIET_MIN = 1;
export const QUIET_MAX = 86_400;

export const quietSecondsOf = ({
  grain,
  quiet_seconds,
}: {
  grain: Grain;
  quiet_seconds: number | null;
}): number => quiet_seconds ?? QUIET_DEFAULTS[grain];
