export { AUTHENTICATION_CODES, CATALOGUE, type ProblemCode } from './catalogue';
export { Problem, problem, type FieldError, type ProblemBody, type ProblemOptions } from './problem';
export { duplicateOf, explainConstraint, problemOfDatabaseError } from './sqlstate';
export { ApiProblems, FieldErrorDto, problemContent, ProblemDto, PROBLEMS_EXTENSION } from './problem.dto';
