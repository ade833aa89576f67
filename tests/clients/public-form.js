// Calls examples/public-form.js for tests/t/docs/public_form_clients.pl, as public_form.py here calls its own example.
'use strict';
const fs = require('node:fs');
const { PublicForms, InvalidPublicForm } = require('../../examples/public-form.js');

const METHODS = {
  to_public: 'toPublic',
  from_public: 'fromPublic',
  to_public_uuid: 'toPublicUuid',
  from_public_uuid: 'fromPublicUuid',
};

const forms = new PublicForms(fs.readFileSync(process.argv[2], 'latin1'));
const results = fs.readFileSync(0, 'latin1').split('\n').slice(0, -1).map((line) => {
  let [method, idType, prefix, value] = line.split('\t');
  if (method.startsWith('to_') && idType === 'flake') value = BigInt(value);
  else if (method.startsWith('to_') && idType !== 'uuidv7') value = Buffer.from(value, 'hex');
  try {
    const result = forms[METHODS[method]](idType, value, prefix);
    return Buffer.isBuffer(result) ? result.toString('hex') : String(result);
  } catch (error) {
    if (error instanceof (method.startsWith('from_') ? InvalidPublicForm : RangeError)) return 'refused';
    throw error;
  }
});
process.stdout.write(results.map((result) => result + '\n').join(''));
