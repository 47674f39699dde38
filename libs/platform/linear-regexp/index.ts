export { LinearRegExp, MAX_PATTERN_LENGTH, PatternRefused } from './linear.regexp';
