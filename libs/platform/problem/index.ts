export { formatBytes } from './byte-size';
export { AUTHENTICATION_CODES, CATALOGUE, type ProblemCode } from './catalogue';
export {
  orNotFound,
  Problem,
  problem,
  type FieldError,
  type ProblemBody,
  type ProblemOptions,
} from './problem';
export {
  duplicateOf,
  explainConstraint,
  isDataError,
  isDeadlock,
  isLockTimeout,
  problemOfDatabaseError,
} from './sqlstate';
export {
  FieldErrorDto,
  problemContent,
  ProblemDto,
  problemSchema,
  throwing,
  Throws,
  THROWS_PREFIX,
} from './problem.dto';
