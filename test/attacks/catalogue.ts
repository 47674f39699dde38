import type { Attack } from './attack';
import * as bodies from './body-attacks';
import * as connections from './connection-attacks';
import * as scoring from './scoring-attacks';
import * as providers from './provider-attacks';
import * as work from './work-attacks';

/** Every attack. The tests and the benchmark run all of them. */
export const ATTACKS: readonly Attack[] = [
  ...Object.values(connections),
  ...Object.values(bodies),
  ...Object.values(scoring),
  ...Object.values(providers),
  ...Object.values(work),
];
