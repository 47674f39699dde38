export { FairQueue, type Owners } from './fair-queue';
export { FairTurns } from './fair-turns';
export { Pace } from './pace';
