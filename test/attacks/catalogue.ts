import type { Attack } from './attack';
import * as bodies from './body-attacks';
import * as connections from './connection-attacks';
import * as scoring from './scoring-attacks';
import * as providers from './provider-attacks';
import * as work from './work-attacks';

/** Attacks that need only a port. */
export const CONNECTION_ATTACKS: readonly Attack[] = Object.values(connections);
export const BODY_ATTACKS: readonly Attack[] = Object.values(bodies);
export const SCORING_ATTACKS: readonly Attack[] = Object.values(scoring);
export const PROVIDER_ATTACKS: readonly Attack[] = Object.values(providers);
/** Attacks with expensive work other than scoring. */
export const WORK_ATTACKS: readonly Attack[] = Object.values(work);

/** Every attack. The tests and the benchmark run all of them. */
export const ATTACKS: readonly Attack[] = [
  ...CONNECTION_ATTACKS,
  ...BODY_ATTACKS,
  ...SCORING_ATTACKS,
  ...PROVIDER_ATTACKS,
  ...WORK_ATTACKS,
];
