export { LinearRegExp, MAX_PATTERN_LENGTH, PatternError } from './linear.regexp';
