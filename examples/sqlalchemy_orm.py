"""flakeid with SQLAlchemy's ORM.

Needs Python 3.10 and `pip install "SQLAlchemy>=2" "psycopg[binary]"`; PGHOST, PGPORT, PGUSER and PGDATABASE lead to
a database that has the extension. Run: python3 examples/sqlalchemy_orm.py
"""
from datetime import datetime, timedelta, timezone

from sqlalchemy import BigInteger, DateTime, create_engine, func, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.types import UserDefinedType


class Sno(UserDefinedType):
    """A sno, as its 16 characters."""

    cache_ok = True

    def get_col_spec(self):
        return "sno"

    def coerce_compared_value(self, op, value):
        # A sno is compared with a sno or with a time. SQLAlchemy would treat both as a sno, and not every driver sends a
        # datetime with its type.
        return DateTime(timezone=True) if isinstance(value, datetime) else self


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, server_default=text("flake_next()"))
    event: Mapped[str] = mapped_column(Sno, unique=True, server_default=text("sno_next(7)"))
    item: Mapped[str]


engine = create_engine("postgresql+psycopg://")
Base.metadata.create_all(engine)

with Session(engine) as session:
    orders = [Order(item=item) for item in ["tea", "milk", "bread", "salt", "rice"]]
    session.add_all(orders)
    # INSERT ... RETURNING returns both IDs, so that no other query is necessary.
    session.flush()
    for order in orders:
        print("made", order.id, order.event, order.item)
    session.commit()

    since = datetime.now(timezone.utc) - timedelta(minutes=5)
    by_id = select(Order.id).where(Order.id >= func.flake_min(since)).order_by(Order.id)
    print("recent by id:", *session.scalars(by_id))
    by_event = select(Order.event).where(Order.event >= since).order_by(Order.event)
    print("recent by event:", *session.scalars(by_event))

    newest = select(Order.event).where(Order.event >= since).order_by(Order.event.desc()).limit(3)
    page, events = 1, session.scalars(newest).all()
    while events:
        print(f"page {page}:", *events)
        page, events = page + 1, session.scalars(newest.where(Order.event < events[-1])).all()
