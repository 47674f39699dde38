export { JsonLogger, rootLogger, setLogLevel, type LogFields } from './json-logger';
