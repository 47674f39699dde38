export { JsonLogger, logToStandardError, rootLogger, setLogLevel } from './json-logger';
