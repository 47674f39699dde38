export { LinearRegExp, MAX_PATTERN_LENGTH, PatternError } from './linear.regexp';
export type { MatchFinder, StepBudget } from './match.finder';
