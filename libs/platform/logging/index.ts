export { JsonLogger, rootLogger, setLogLevel } from './json-logger';
