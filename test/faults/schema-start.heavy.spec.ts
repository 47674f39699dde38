// The same for every process.
import './schema-start.spec';
