-- Time as a predicate of sno. Each operator is a function with a SQL body, which the planner writes
-- out as a comparison of the ID with a bound of the time: an index of the ID serves it.

CREATE FUNCTION sno_lt_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id < sno_min("time");
COMMENT ON FUNCTION sno_lt_time(sno, timestamptz) IS 'whether a sno was made before a time';

CREATE FUNCTION sno_le_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id <= sno_max("time");
COMMENT ON FUNCTION sno_le_time(sno, timestamptz) IS 'whether a sno was made at or before a time';

CREATE FUNCTION sno_eq_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_min("time") AND id <= sno_max("time");
COMMENT ON FUNCTION sno_eq_time(sno, timestamptz) IS 'whether a sno was made exactly at a time';

CREATE FUNCTION sno_ge_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id >= sno_min("time");
COMMENT ON FUNCTION sno_ge_time(sno, timestamptz) IS 'whether a sno was made at or after a time';

CREATE FUNCTION sno_gt_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id > sno_max("time");
COMMENT ON FUNCTION sno_gt_time(sno, timestamptz) IS 'whether a sno was made after a time';

CREATE FUNCTION sno_ne_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < sno_min("time") OR id > sno_max("time");
COMMENT ON FUNCTION sno_ne_time(sno, timestamptz) IS 'whether a sno was made at another time than a time';

CREATE FUNCTION time_lt_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id > sno_max("time");
COMMENT ON FUNCTION time_lt_sno(timestamptz, sno) IS 'whether a sno was made after a time';

CREATE FUNCTION time_le_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id >= sno_min("time");
COMMENT ON FUNCTION time_le_sno(timestamptz, sno) IS 'whether a sno was made at or after a time';

CREATE FUNCTION time_eq_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_min("time") AND id <= sno_max("time");
COMMENT ON FUNCTION time_eq_sno(timestamptz, sno) IS 'whether a sno was made exactly at a time';

CREATE FUNCTION time_ge_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id <= sno_max("time");
COMMENT ON FUNCTION time_ge_sno(timestamptz, sno) IS 'whether a sno was made at or before a time';

CREATE FUNCTION time_gt_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id < sno_min("time");
COMMENT ON FUNCTION time_gt_sno(timestamptz, sno) IS 'whether a sno was made before a time';

CREATE FUNCTION time_ne_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < sno_min("time") OR id > sno_max("time");
COMMENT ON FUNCTION time_ne_sno(timestamptz, sno) IS 'whether a sno was made at another time than a time';

CREATE OPERATOR < (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_lt_time,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (sno, timestamptz) IS 'was made before';

CREATE OPERATOR <= (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_le_time,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (sno, timestamptz) IS 'was made at or before';

CREATE OPERATOR = (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_eq_time,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (sno, timestamptz) IS 'was made exactly at';

CREATE OPERATOR >= (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_ge_time,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (sno, timestamptz) IS 'was made at or after';

CREATE OPERATOR > (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_gt_time,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (sno, timestamptz) IS 'was made after';

CREATE OPERATOR <> (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_ne_time,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sno, timestamptz) IS 'was made at another time than';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_lt_sno,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, sno) IS 'time less than that of a sno';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_le_sno,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, sno) IS 'time less than or equal that of a sno';

CREATE OPERATOR = (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_eq_sno,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, sno) IS 'time equal that of a sno';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_ge_sno,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, sno) IS 'time greater than or equal that of a sno';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_gt_sno,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, sno) IS 'time greater than that of a sno';

CREATE OPERATOR <> (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_ne_sno,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, sno) IS 'time not equal that of a sno';

CREATE FUNCTION sno_in_times(id sno, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_range_min(times) AND id <= sno_range_max(times);
COMMENT ON FUNCTION sno_in_times(sno, tstzrange) IS 'whether a sno was made within a range of times';

CREATE FUNCTION times_of_sno(times tstzrange, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_range_min(times) AND id <= sno_range_max(times);
COMMENT ON FUNCTION times_of_sno(tstzrange, sno) IS 'whether a range of times holds that of a sno';

CREATE OPERATOR <@ (
    LEFTARG = sno, RIGHTARG = tstzrange, FUNCTION = sno_in_times,
    COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (sno, tstzrange) IS 'was made within';

CREATE OPERATOR @> (
    LEFTARG = tstzrange, RIGHTARG = sno, FUNCTION = times_of_sno,
    COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, sno) IS 'holds the time of';
